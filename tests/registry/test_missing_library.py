"""A class whose module imports a missing library at its top: the message says what to install."""

import sys
from pathlib import Path

import pytest

from convrag.api.errors import MissingExtra, PluginError
from convrag.registry.importing import find_install
from convrag.registry.option import Option
from third_party import Environment
from written_modules import make_modules

RANKER = """
import {library}
from convrag import Ranker

class TopRanker(Ranker):
    "Rank by a library."

    def score(self, query, texts):
        return {library}.score(query, texts)
"""

PLUGIN = """
from convrag import hookimpl

@hookimpl
def convrag_register(register):
    register("ranker", "top", "acme.ranks:TopRanker", "Rank by a library.")
"""


def make_option(folder: Path, monkeypatch: pytest.MonkeyPatch, library: str) -> Option:
    """Make an option of an unknown distribution whose module imports a library."""
    name = f"ranks_of_{library.replace('.', '_')}"
    make_modules(folder, monkeypatch, {f"{name}.py": RANKER.format(library=library)})
    return Option("ranker", "top", f"{name}:TopRanker", name, "acme.py")


@pytest.mark.parametrize(
    ("library", "install"),
    [
        ("opensearchpy", "convrag[opensearch]"),
        ("qdrant_client", "convrag[qdrant]"),
        ("bertopic", "convrag[bertopic]"),
    ],
)
def test_a_library_of_one_of_our_extras(
    library: str, install: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)  # as if it were not installed
    option = make_option(tmp_path, monkeypatch, library)
    with pytest.raises(MissingExtra) as caught:
        _ = option.parameters
    assert (caught.value.module, caught.value.install) == (library, install)
    assert str(caught.value).startswith(f"ranker=top needs {library}, which is not installed: pip")


def test_a_library_that_nobody_knows_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    option = make_option(tmp_path, monkeypatch, "no_such_library")
    with pytest.raises(PluginError, match="No module named 'no_such_library'"):
        _ = option.cls


def test_a_module_that_an_installed_library_lacks_needs_no_installing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    option = make_option(tmp_path, monkeypatch, "pydantic.no_such_part")
    with pytest.raises(PluginError, match=r"No module named 'pydantic\.no_such_part'"):
        _ = option.cls


def test_a_plugin_of_others_has_extras_of_its_own(tmp_path: Path) -> None:
    environment = Environment(tmp_path)
    files = {
        "acme/__init__.py": PLUGIN,
        "acme/ranks.py": RANKER.format(library="acme_engine"),
    }
    environment.install("acme", files, requires=('acme-engine>=1; extra == "engine"',))
    message = (
        "ranker=top needs acme_engine, which is not installed: pip install 'acme-dist[engine]'"
    )
    done = environment.convrag("ranker=top", "limit=1")
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert message in environment.convrag("--help", "ranker=top").stderr
    shown = environment.run_command("task=plugins", "task.stage=ranker")
    assert shown.returncode == 0, shown.stderr
    assert "pip install 'acme-dist[engine]'" in " ".join(shown.stdout.split())


def test_a_requirement_without_an_extra_is_installed_by_its_name() -> None:
    assert find_install("omegaconf", ["convrag"]) == "omegaconf"
    assert find_install("omegaconf", ["no-such-distribution", "acme.py", ""]) == ""
