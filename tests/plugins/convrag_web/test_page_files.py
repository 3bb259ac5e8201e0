"""The files of the chat page: small, nothing from elsewhere, nothing that makes HTML of a text."""

import re
from pathlib import Path

import pytest

from places import ROOT

PAGE = ROOT / "plugins" / "convrag_web" / "page"
MODULES = sorted(PAGE.glob("*.js"))
VENDORED = {"marked": "marked.esm.js", "dompurify": "purify.es.mjs"}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_a_module_says_what_it_is_for_and_makes_no_html(module: Path):
    text = module.read_text(encoding="utf-8")
    assert text.startswith("/** ")
    assert not re.findall(
        r"(inner|outer|insertAdjacent)HTML|document\.write|\beval\(|new Function|\.style\b", text
    )


def test_nothing_comes_from_elsewhere():
    texts = {
        path.name: path.read_text(encoding="utf-8")
        for path in [*MODULES, *PAGE.glob("*.css"), PAGE / "index.html"]
    }
    addresses = {
        name: re.findall(r"[\"'(](?:https?:)?//[\w.]+", text) for name, text in texts.items()
    }
    assert {name: found for name, found in addresses.items() if found} == {
        "controls.js": ['"http://www.w3.org']
    }  # SVG
    imported = {
        path
        for text in texts.values()
        for path in re.findall(r'(?:from|import\() ?"([^"]+)"', text)
    }
    assert [path for path in sorted(imported) if not (PAGE / path).is_file()] == []


@pytest.mark.parametrize("package", VENDORED)
def test_a_library_is_the_version_that_its_readme_says(package: str):
    text = (PAGE / "vendor" / VENDORED[package]).read_text(encoding="utf-8")[:300]
    [version] = re.findall(
        rf"{package} (\d+\.\d+\.\d+)", (PAGE / "vendor" / "README.md").read_text(encoding="utf-8")
    )
    assert version in text
    assert (PAGE / "vendor" / f"LICENSE.{package}").is_file()
