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


HEAVY = {"litellm", "mlflow", "sklearn", "torch", "pandas", "numpy", "pydantic", "rich", "jinja2"}


def list_inner_modules(modules: set[str]) -> list[str]:
    """The modules of plugins that are more than their packages."""
    return [module for module in modules if re.match(r"convrag_\w+\.", module)]


@pytest.mark.parametrize("arguments", [["--help"], ["top_k=3", "-h"]])
def test_help_imports_no_module_of_a_plugin_but_its_package(
    arguments: list[str], tmp_path: Path
) -> None:
    modules = imported(tmp_path, COMMAND, *arguments)
    assert "convrag_dhrag" in modules
    assert not HEAVY & modules
    assert not list_inner_modules(modules)


def test_help_of_an_option_imports_that_option_alone(tmp_path: Path) -> None:
    modules = imported(tmp_path, COMMAND, "--help", "rewriter=dhrag")
    assert "convrag_dhrag.rewriter" in modules
    assert not [
        name for name in list_inner_modules(modules) if not name.startswith("convrag_dhrag")
    ]


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
        pool.submit(option._import, "watching_module:Watched").result()
    del sys.modules["watching_module"]
    assert seen == [sys.stdout]
