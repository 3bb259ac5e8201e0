"""Options, presets and packages that the text of the docs names exist; commands have another test
(test_docs_commands.py).
"""

import re
from collections.abc import Iterator

import pytest

from convrag.api.groups import GROUPS, options_group
from convrag.config.compose import variants
from convrag.config.settings import PRESETS
from convrag.registry import plugins
from places import ROOT

PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"))
)
NEW_OPTIONS = ("docs/tutorial.md",)
"""Pages whose options are not installed here."""

BLOCK = re.compile(r"^```.*?^```$", re.M | re.S)
SPAN = re.compile(r"`([^`\n]+)`")
CHOICE = re.compile(r"(?<![\w./])\+?((?:\w+\.)*\w+)=([a-z][\w,|]*)")
LAUNCHER = re.compile(r"hydra/(?:launcher|sweeper)=(convrag\w*)")
PACKAGE = re.compile(r"plugins/((?:hydra_plugins/)?convrag_\w+)")

TOLD = {"null", "true", "false"}
EXAMPLES = {"acme_topic", "acme_length"}
"""Options of the packages that the guide for authors builds."""


def read_text(page: str) -> str:
    """Return a page without its blocks of commands and programs."""
    return BLOCK.sub("", (ROOT / page).read_text(encoding="utf-8"))


def list_names(group: str) -> set[str]:
    """Return the names that can be chosen in a group of options or presets."""
    if group in PRESETS:
        return set(variants(group))
    options = options_group(group)
    return {*variants(options), *plugins.load().registry.options(options)}


def find_unknown_choices(text: str) -> Iterator[str]:
    """Yield the choices in code spans, such as `rewriter=mmr`, whose option does not exist."""
    for span in SPAN.findall(text):
        for place, names in CHOICE.findall(span):
            group = place.rpartition(".")[2]
            if place not in PRESETS and group not in GROUPS:
                continue
            known = list_names(place if place in PRESETS else group) | TOLD | EXAMPLES
            for name in re.split("[,|]", names):
                if name and name not in known:
                    yield f"{place}={name}"


def find_unknown_rows(text: str) -> Iterator[str]:
    """Yield the names in the first column of tables of options which no group has."""
    known = EXAMPLES.union(*(list_names(group) for group in GROUPS))
    in_options = False
    previous = ""
    for line in text.splitlines():
        if re.match(r"\| *-{3}", line):
            in_options = previous.startswith("| option")
        elif not line.startswith("|"):
            in_options = False
        elif in_options:
            for span in SPAN.findall(line.split("|")[1]):
                if re.fullmatch(r"[a-z]\w*", span) and span not in known:
                    yield span
        previous = line


def find_unknown_packages(text: str) -> Iterator[str]:
    """Yield the names of packages, launchers and sweepers which are not there."""
    folder = ROOT / "plugins"
    for name in LAUNCHER.findall(text):
        found = [*folder.glob(f"hydra_plugins/{name}*"), *ROOT.glob(f"conf/hydra/*/{name}*")]
        if not found and name != "convrag":
            yield name
    for name in PACKAGE.findall(text):
        if not (folder / name).exists():
            yield name


def test_what_is_not_there_is_found() -> None:
    """The text of every kind of mistake: docs once named these after they were gone."""
    text = "`generator=nonesuch`, `rewriter.clusterer=lsa,nonesuch`, `+system=nonesuch`, `top_k=x`"
    assert list(find_unknown_choices(text)) == [
        "generator=nonesuch",
        "rewriter.clusterer=nonesuch",
        "system=nonesuch",
    ]
    table = "| option | what |\n| --- | --- |\n| `mmr`, `nonesuch` | x |\n\n| a |\n| --- |\n| `b` |"
    assert list(find_unknown_rows(table)) == ["nonesuch"]
    text = "`hydra/launcher=convrag_nonesuch`, plugins/convrag_mmr, `plugins/convrag_nonesuch/x.py`"
    assert list(find_unknown_packages(text)) == ["convrag_nonesuch", "convrag_nonesuch"]


@pytest.mark.parametrize("page", [page for page in PAGES if page not in NEW_OPTIONS])
def test_what_a_page_names_is_there(page: str) -> None:
    text = read_text(page)
    assert list(find_unknown_choices(text)) == []
    assert list(find_unknown_rows(text)) == []
    if page.startswith("docs/"):  # CONTRIBUTING.md names what the history has, too
        assert list(find_unknown_packages(text)) == []
