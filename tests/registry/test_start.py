"""What starting the command imports."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from convrag.registry.option import Option
from convrag_basics.none import NoRanker

COMMAND = """
import atexit, sys
atexit.register(lambda: sys.stderr.write(" ".join(sys.modules)))
from convrag.cli.main import main
main()
"""


def imported(folder: Path, code: str, *arguments: str) -> set[str]:
    """The modules that a process has imported when it ends; `-X importtime` does not show those of
    import_module.
    """
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


CHOSEN = [
    "rewriter=dhrag",
    "rewriter.alpha=0.5",
    "rewriter.embedder=bge",
    "reranker=bge_reranker",
    "llm=claude",
]


@pytest.mark.parametrize("arguments", [["--help"], [*CHOSEN, "-h"]])
def test_help_imports_no_module_of_a_plugin_but_its_package(
    arguments: list[str], tmp_path: Path
) -> None:
    modules = imported(tmp_path, COMMAND, *arguments)
    assert "convrag_dhrag" in modules
    assert (
        not {
            "litellm",
            "mlflow",
            "sklearn",
            "torch",
            "pandas",
            "numpy",
            "pydantic",
            "rich",
            "jinja2",
        }
        & modules
    )
    assert not [module for module in modules if re.match(r"convrag_\w+\.", module)]


READ = """
from convrag.api.groups import GROUPS
from convrag.registry import plugins
from convrag.registry.parameters import read_parameters
from convrag.registry.source import find_class

def describe(parameters):
    return {name: (each.group, each.required, each.operational) for name, each in (parameters or {}).items()}

registry = plugins.load().registry
options = [registry.get(group, name) for group in GROUPS for name in registry.options(group)]
written = {option.path: describe(find_class(option.path).parameters) for option in options}
for option in options:
    if not option.missing_extra():
        assert written[option.path] == describe(read_parameters(option.cls)), option.path
"""


def test_the_parameters_that_are_read_in_the_source_are_those_of_the_classes(
    tmp_path: Path,
) -> None:
    assert not imported(
        tmp_path, READ
    )  # in a process of its own: the loader of pytest gives no source


def test_a_task_imports_what_is_chosen_and_no_other_option(tmp_path: Path) -> None:
    modules = imported(tmp_path, COMMAND, "--cfg", "job", "rewriter=dhrag")
    assert "convrag_dhrag.rewriter" in modules
    assert not {"convrag_mmr.rewriter", "convrag_llms.litellm_llm"} & modules


def test_importing_convrag_imports_neither_hydra_nor_numpy(tmp_path: Path) -> None:
    code = "import sys, convrag; sys.stderr.write(' '.join(sys.modules))"
    assert not {"hydra", "omegaconf", "numpy"} & imported(tmp_path, code)


def test_a_thread_that_imports_a_plugin_leaves_the_output_alone() -> None:
    """Two threads that swap sys.stdout for a while may put back each other's."""
    seen = []

    class Watching(ModuleType):
        def __getattr__(self, name: str) -> type:
            seen.append(sys.stdout)
            return NoRanker

    sys.modules["watching_module"] = Watching("watching_module")
    option = Option("ranker", "watching", "watching_module:Watched", "plugin", "distribution")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(option._import).result()
    del sys.modules["watching_module"]
    assert seen == [sys.stdout]
