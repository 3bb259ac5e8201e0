"""Old names of options and parameters work for a while, and warn once; nothing of ours outlives its version."""

import json
import re
from pathlib import Path
from typing import Annotated, Any

import pytest
from packaging.version import Version

import toys
from convrag import ConfigError, Deprecated, Question, Rewrite, Rewriter, __version__
from convrag.api import deprecation
from convrag.api.groups import GROUPS, options_group
from convrag.registry import plugins
from convrag.registry.option import Option
from convrag.registry.plugins import Plugins
from convrag.sdk.errors import PluginError
from third_party import Environment

CODE = """
from typing import Annotated
from convrag import Deprecated, Rewrite, Rewriter, hookimpl

class Soft(Rewriter):
    '''Say words before it.

    Args:
        words: which.
        prefix: the same.
    '''
    def __init__(self, *, words: str = "please", prefix: Annotated[str | None, Deprecated("words", "2.0")] = None):
        assert prefix is None
        self.words = words

    def rewrite(self, question):
        return Rewrite.of(f"{self.words} {question.text}")

@hookimpl
def convrag_register(register):
    register("rewriter", "soft", SOFT)
    register("rewriter", "gentle", Deprecated("soft", "2.0"))
"""


class Soft(Rewriter):
    """Say words before it."""

    def __init__(self, *, words: str = "please", prefix: Annotated[str | None, Deprecated("words", "2.0")] = None):
        self.words = words

    def rewrite(self, question: Question) -> Rewrite:
        return Rewrite.of(f"{self.words} {question.text}")


@pytest.fixture(autouse=True)
def _nothing_said() -> None:
    deprecation._warn_once.cache_clear()


RUN = ("limit=2", "generator=none")
OPTION = Option("rewriter", "soft", Soft, "acme", "acme-dist")


@pytest.mark.slow
def test_old_names_work_and_warn_once(tmp_path: Path) -> None:
    environment = Environment(tmp_path)
    environment.install("acme", {"acme/__init__.py": CODE.replace("SOFT", "'acme:Soft'")})
    old = environment.convrag("rewriter=gentle", "rewriter.prefix=now", *RUN, "hydra.run.dir=out")
    assert old.returncode == 0, old.stderr
    assert old.stderr.splitlines() == [
        "convrag: rewriter=gentle is deprecated: write rewriter=soft. acme-dist 2.0 will not understand it",
        "convrag: rewriter.prefix is deprecated: write rewriter.words. acme-dist 2.0 will not understand it",
    ]
    (path,) = (environment.work / "out/intermediate").glob("*.jsonl")
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert records
    assert all(record["rewritten_query"].startswith("now ") for record in records)
    new = environment.convrag("rewriter=soft", "rewriter.words=now", *RUN, "hydra.run.dir=new")
    assert (new.returncode, new.stderr) == (0, "")
    written = [json.loads((environment.work / run / "run.json").read_text()) for run in ("out", "new")]
    assert written[0]["fingerprints"] == written[1]["fingerprints"], (
        "it is the same stage, so the store has its results"
    )
    assert "Deprecated: write soft." in " ".join(environment.convrag("--help").stdout.split())


def test_a_value_moves_to_the_new_name(caplog: pytest.LogCaptureFixture) -> None:
    assert OPTION.values({"words": "please", "prefix": "now"}, "rewriter") == {"words": "now", "prefix": None}
    assert OPTION.values({"prefix": "now"}, "rewriter") == {"words": "now", "prefix": None}
    assert len(caplog.messages) == 1
    assert OPTION.values({"words": "please", "prefix": None}, "rewriter") == {"words": "please", "prefix": None}
    with pytest.raises(ConfigError, match=r"rewriter\.prefix is an old name of rewriter\.words: give one of the two"):
        OPTION.values({"words": "at once", "prefix": "now"}, "rewriter")


def test_an_old_name_of_nothing_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    class Wrong(Soft):
        def __init__(self, *, prefix: Annotated[str | None, Deprecated("wrds", "2.0")] = None, words: str = "") -> None:
            super().__init__(words=words)

    class Early(Soft):
        def __init__(self, *, words: str = "", prefix: Annotated[str, Deprecated("words", "2.0")] = "a") -> None:
            super().__init__(words=words)

    with pytest.raises(PluginError, match=r"prefix is deprecated: parameter 'wrds' does not exist. Did you mean"):
        _ = Option("rewriter", "wrong", Wrong, "acme", "acme-dist").parameters
    with pytest.raises(ConfigError, match=r"prefix is deprecated, so it is no stage, and its default is None"):
        _ = Option("rewriter", "early", Early, "acme", "acme-dist").parameters
    hook: Any = toys.registering(("rewriter", "gentle", Deprecated("soft", "2.0")))  # type: ignore[arg-type]
    Plugins([toys.plugin("toy_old", convrag_register=hook)])
    assert "register rewriter=gentle: it is an old name of soft, which must be registered before it" in caplog.text


def test_what_is_deprecated_of_ours_is_not_overdue() -> None:
    """The version that was said to be the last has not come yet."""
    registry = plugins.load().registry
    options = [each for group in GROUPS if group == options_group(group) for each in registry.options(group).values()]
    ours = [each for each in options if each.distribution == plugins.FIRST_PARTY]
    marks = [(each.name, each.deprecated) for each in ours if each.deprecated]
    for option in ours:
        marked = "Deprecated(" in str(option.source_parameters or "")
        found = option.parameters.values() if marked else ()
        marks += [(f"{option.name}.{each.name}", each.deprecated) for each in found if each.deprecated]
    overdue = [name for name, mark in marks if Version(mark.until) <= Version(__version__)]
    assert not overdue, f"remove {', '.join(overdue)}"


def test_the_example_of_the_docs_works(caplog: pytest.LogCaptureFixture) -> None:
    page = (Path(__file__).parents[1] / "docs/plugins.md").read_text(encoding="utf-8")
    examples = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (example,) = (each for each in examples if "Deprecated" in each)
    found: dict[str, Any] = {"__name__": "stability"}
    exec(compile(example, "plugins.md", "exec"), found)
    option = Option("rewriter", "acme_topic", found["TopicRewriter"], "acme", "convrag-acme")
    assert option.values({"words": 8, "length": 3}, "rewriter") == {"words": 3, "length": None}
    assert caplog.messages[0] in page
    registered: list[tuple[Any, ...]] = []
    found["convrag_register"](lambda *arguments: registered.append(arguments))
    assert registered[1] == ("rewriter", "acme_words", Deprecated("acme_topic", "0.3"))
