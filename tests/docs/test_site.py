"""The site has every page, in an order, and mkdocs builds it without a warning where it is
installed.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from places import ROOT


class Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, in which mkdocs finds functions by their names."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)

SITE = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)


def pages_of(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for each in nav.values() if isinstance(nav, dict) else nav:
            yield from pages_of(each)


GENERATED = {"reference.md", "authors.md", "plugin_list.md"}
"""Pages that docs/site_hooks.py writes when the site is built."""

POINTERS = {"notebooks/README.md"}
"""They name a page, for those who look at a folder."""


def test_each_page_stands_in_the_navigation_once() -> None:
    docs = ROOT / "docs"
    there = {
        str(path.relative_to(docs))
        for path in docs.rglob("*.md")
        if path.parent == docs or path.parent.name in ("notebooks", "examples")
    }
    assert sorted(pages_of(SITE["nav"])) == sorted((there | GENERATED) - POINTERS)
    assert {f"/{name}" for name in POINTERS} <= {*SITE["exclude_docs"].split()}


@pytest.mark.slow
def test_it_builds_without_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """`python -m mkdocs build --strict`: no dead link, no dead anchor, no page outside the
    navigation.
    """
    pytest.importorskip("material", reason="the site needs the extra docs")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    build(load_config(str(ROOT / "mkdocs.yml"), strict=True, site_dir=str(tmp_path / "site")))
    assert "Your documents in ten minutes" in (tmp_path / "site/index.html").read_text(
        encoding="utf-8"
    )
    assert not (tmp_path / "site/build_reference.py").exists()
    assert not (tmp_path / "site/listed_plugins.yaml").exists()
    check_what_programs_read(tmp_path / "site")


def check_what_programs_read(site: Path) -> None:
    """Each page is in llms.txt, llms-full.txt and as Markdown, which its HTML names."""
    index = (site / "llms.txt").read_text(encoding="utf-8")
    full = (site / "llms-full.txt").read_text(encoding="utf-8")
    assert index.startswith("# convrag\n\n> The plugin framework")
    for name in pages_of(SITE["nav"]):
        assert f"]({SITE['site_url']}{name})" in index
        text = (site / name).read_text(encoding="utf-8")
        assert text.startswith("# ")
        assert text.strip() in full
    start = (site / "start/index.html").read_text(encoding="utf-8")
    assert '<link rel="alternate" type="text/markdown" href="../start.md"></head>' in start
    examples = (site / "examples/index.html").read_text(encoding="utf-8")
    assert 'type="text/markdown" href="../examples/README.md"' in examples
    schema = json.loads((site / "conf.schema.json").read_text(encoding="utf-8"))
    assert "rewriter.mmr" in schema["definitions"]
