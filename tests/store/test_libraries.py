"""Which libraries a class reaches, and that a release of another one changes no fingerprint."""

import importlib
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import toys
from convrag.registry import plugins
from convrag.store import fingerprint
from convrag.store.fingerprint import compute_fingerprint, find_version
from convrag.store.libraries import find_libraries

_NUMBERS = count()
REPLIES = "from convrag.sdk.llm.structured_output import ask_json\n"


@pytest.fixture
def define(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write the modules of a package `acme_parts`, and return its class `stages.Mine`."""

    def write(**modules: str) -> type:
        package = f"acme_parts_{next(_NUMBERS)}"  # a process reads each module once
        folder = tmp_path / package
        folder.mkdir()
        for name, text in {"__init__": "", **modules}.items():
            (folder / f"{name}.py").write_text(text.replace("acme_parts", package))
        monkeypatch.syspath_prepend(tmp_path)
        importlib.invalidate_caches()
        module = importlib.import_module(f"{package}.stages")
        mine: type = module.Mine
        return mine

    return write


def test_a_class_does_not_depend_on_what_its_neighbours_use(define: Any) -> None:
    helpers = f"{REPLIES}\ndef parse(llm): return ask_json(llm, 1, 2)\ndef plain(): return 1\n"
    stages = (
        "from .helpers import parse, plain\n"
        "class Other:\n    def f(self): return parse(None)\n"
        "class Mine:\n    def f(self): return plain()\n"
    )
    mine = define(helpers=helpers, stages=stages)
    assert find_libraries(mine) == ()
    assert find_libraries(sys.modules[mine.__module__].Other) == ("json-repair",)


@pytest.mark.parametrize(
    "stages",
    [
        # by an attribute of a module, under another name, in a method, through a facade
        "from acme_parts import helpers\nclass Mine:\n    def f(self): return helpers.parse(1)",
        "from . import helpers as h\nclass Mine:\n    def f(self): return h.parse(1)",
        "import acme_parts.helpers\nclass Mine:\n    def f(self): return acme_parts.helpers.parse(1)",
        "class Mine:\n    def f(self):\n        from .helpers import parse as p\n        return p(1)",
        "class Mine:\n    def f(self):\n        from .facade import parse\n        return parse(1)",
        "from acme_parts.helpers import *\nclass Mine:\n    def f(self): return parse(1)",
        # by a base class, a constant, a default, a function of the same module
        "from .helpers import parse\nclass Base:\n    def f(self): return parse(1)\nclass Mine(Base): ...",
        "from .helpers import parse\nREADERS = {'a': parse}\nclass Mine:\n    def f(self): return READERS",
        "from .helpers import parse\nclass Mine:\n    def f(self, read=parse): return read",
        "from .helpers import parse\ndef g(): return parse(1)\nclass Mine:\n    def f(self): return g()",
        # what a syntax tree cannot show
        "from .helpers import parse\nREADERS = []\nREADERS.append(parse)\nclass Mine:\n    f = READERS",
        "from .helpers import parse\nR = {}\ndef add(f): R[1] = f\n@add\ndef g(): return parse(1)\n"
        "class Mine:\n    def f(self): return R[1]",
        "from importlib import import_module\nclass Mine:\n    def f(self, x): return import_module(x)",
        "try:\n    from .helpers import parse\nexcept ImportError:\n    parse = None\n"
        "class Mine:\n    def f(self): return parse(1)",
    ],
)
def test_a_library_is_found_however_the_code_reaches_it(stages: str, define: Any) -> None:
    helpers = f"{REPLIES}\ndef parse(llm): return ask_json(llm, 1, 2)\n"
    mine = define(helpers=helpers, facade="from .helpers import parse\n", stages=stages)
    assert find_libraries(mine) == ("json-repair",)


def test_a_package_names_libraries_of_its_own(define: Any) -> None:
    stages = (
        'LIBRARIES = {"rapidfuzz": "rapidfuzz", "yaml": "PyYAML"}\n'
        "class Mine:\n    def f(self):\n        from rapidfuzz import fuzz\n        return fuzz\n"
    )
    assert find_libraries(define(stages=stages)) == ("rapidfuzz",)


def _compute(
    group: str, option: str, monkeypatch: pytest.MonkeyPatch, **parameters: Any
) -> set[str]:
    """Fingerprints of a stage of an option with the installed json-repair, and the next one."""
    cls = plugins.load().registry.get(group, option).cls
    stage = object.__new__(cls)
    monkeypatch.setattr(cls, "content_hash", lambda self: "")
    monkeypatch.setattr(cls, "endpoints", lambda self: ())
    found = set()
    for patch in ("", ".post1"):
        with monkeypatch.context() as context:
            context.setattr(
                fingerprint,
                "find_version",
                lambda name, patch=patch: find_version(name) + patch * (name == "json-repair"),
            )
            found.add(compute_fingerprint(stage, option, parameters))
    return found


class Model(toys.EchoLLM):
    """A language model: it can do any task."""

    fingerprint = "model"
    tasks = None


class Rules(toys.EchoLLM):
    """An LLM stage of rules."""

    fingerprint = "rules"
    tasks = frozenset({"answer"})  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("group", "option", "parameters", "counts"),
    [
        ("rewriter", "last_n", {}, False),
        ("rewriter", "mmr", {}, False),
        ("metrics", "ranking", {}, False),
        ("generator", "direct", {"llm": Rules()}, False),
        ("metrics", "faithfulness", {"llm": Rules()}, False),
        ("metrics", "faithfulness", {"llm": None}, False),
        ("metrics", "faithfulness", {"llm": Model()}, True),
        ("rewriter", "hyde", {"llm": Model()}, True),
        ("ranker", "llm", {"llm": Model()}, True),
    ],
)
def test_a_release_of_json_repair_counts_for_stages_that_read_a_models_json(
    group: str,
    option: str,
    parameters: dict[str, Any],
    counts: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert len(_compute(group, option, monkeypatch, **parameters)) == 1 + counts


@pytest.mark.parametrize(
    ("group", "option", "libraries"),
    [
        ("retriever", "bm25", {"PyStemmer"}),
        ("context", "snippets", {"PyStemmer"}),
        ("generator", "ginger", {"PyStemmer"}),
        ("detector", "llm", {"rapidfuzz"}),
        ("retriever", "dense", set()),
        ("chunker", "sentences", set()),
        ("dataset", "jsonl", set()),
        ("retriever", "fused", set()),
    ],
)
def test_what_the_projects_own_stages_reach(group: str, option: str, libraries: set[str]) -> None:
    found = set(find_libraries(plugins.load().registry.get(group, option).cls))
    assert libraries <= found
    assert found or not libraries
    assert "json-repair" not in found
    if not libraries:
        assert not found
