"""The generator where none is chosen: direct in conversations, ginger elsewhere."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from convrag import Conversations, Pipeline
from convrag.api.errors import ConfigError, OtherConfiguration
from convrag.config.compose import compose, use_folder
from convrag.config.variants import default_options
from served import serve_command
from tasks import run_here

CONVERSATIONS = ("task=chat", "task=serve", "task=mcp")


def chosen(*overrides: str) -> Any:
    return compose(*overrides).generator._option_


@pytest.mark.parametrize("task", CONVERSATIONS)
def test_a_conversation_answers_directly(task: str) -> None:
    assert chosen(task) == "direct"


@pytest.mark.parametrize("overrides", [[], ["task=run"], ["task=doctor"], ["task=record"]])
def test_elsewhere_clusterers_and_rankers_count(overrides: list[str]) -> None:
    assert chosen(*overrides) == default_options()["generator"] == "ginger"


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("generator=ginger", "ginger"),
        ("generator=chat", "chat"),
        ("+seed=ginger", "ginger"),
        ("+seed=condense", "chat"),
        ("+system=ginger", "ginger"),
        ("clusterer=none", "direct"),
    ],
)
def test_what_a_user_chooses_wins(override: str, expected: str) -> None:
    assert chosen("task=chat", override) == expected


def test_the_order_of_the_overrides_has_no_bearing() -> None:
    assert chosen("generator=ginger", "task=serve") == "ginger"
    assert chosen("+seed=ginger", "task=mcp") == "ginger"


def test_the_generator_can_be_left_out() -> None:
    assert compose("task=chat", "~generator").generator is None


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[Path]:
    """A folder for --config-dir."""
    folder = tmp_path / "mine"
    (folder / "seed").mkdir(parents=True)
    yield folder
    use_folder(None, None)


def show(folder: Path, *arguments: str) -> str:
    """The generator that `--cfg job` shows."""
    done = run_here([*arguments, "--cfg", "job"], folder)
    assert done.returncode == 0, done.stderr
    return str(yaml.safe_load(done.stdout)["generator"]["_option_"])


def test_the_shown_configuration_has_it(tmp_path: Path) -> None:
    assert show(tmp_path, "task=chat") == "direct"
    assert show(tmp_path, "task=chat", "+seed=ginger") == "ginger"
    assert show(tmp_path) == "ginger"


def test_showing_a_configuration_leaves_the_environment_readable(tmp_path: Path) -> None:
    """The resolver that hides secrets stayed, and read a variable that is not set as null."""
    show(tmp_path, "task=chat")
    with pytest.raises(ConfigError, match="the environment variable 'NOWHERE' is not set"):
        compose("top_k=${oc.env:NOWHERE}")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["config", "override task: chat"], "direct"),
        (["config", "override task: chat", "override generator: ginger"], "ginger"),
        (["settings", "task: chat", "generator: ginger", "llm: extractive"], "ginger"),
        (["settings", "generator: ginger", "llm: extractive", "task: chat"], "ginger"),
    ],
    ids=["our-defaults", "override", "own-list", "own-list-task-last"],
)
def test_a_configuration_file_wins(mine: Path, lines: list[str], expected: str) -> None:
    entries = "".join(f"  - {line}\n" for line in [*lines, "_self_"])
    (mine / "study.yaml").write_text(f"defaults:\n{entries}")
    assert show(mine.parent, "--config-dir", "mine", "--config-name", "study") == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [("override /generator: ginger", "ginger"), ("override /rewriter: none", "direct")],
)
def test_a_preset_of_ones_own_wins(mine: Path, line: str, expected: str) -> None:
    (mine / "seed/short.yaml").write_text(f"# @package _global_\ndefaults:\n  - {line}\n")
    use_folder(str(mine), None)
    assert chosen("task=chat", "+seed=short") == expected


def test_a_preset_may_choose_the_task(mine: Path) -> None:
    text = "# @package _global_\ndefaults:\n  - override /task: chat\n"
    (mine / "seed/talk.yaml").write_text(text)
    use_folder(str(mine), None)
    assert chosen("+seed=talk") == "direct"


@pytest.mark.parametrize(
    "stage", ["clusterer=lsa", "ranker=bm25", "detector=sentences", "summarizer=llm"]
)
def test_a_stage_that_is_not_used_is_named_with_what_uses_it(tmp_path: Path, stage: str) -> None:
    done = run_here(["task=chat", "tracker=none", stage], tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{stage} is not used" in done.stderr
    assert "generator=ginger does" in done.stderr


COUNTED = """
from convrag import LLM, Completion, hookimpl

class Counted(LLM):
    "Writes down what it is asked for."

    def complete(self, prompt):
        with open("calls", "a") as file:
            file.write(f"{prompt.task} ")
        return Completion("It is 384,400 km away [1].", 1, 1, model="counted")

    def count_tokens(self, text):
        return len(text.split())

@hookimpl
def convrag_register(register):
    register("llm", "counted", Counted)
"""


def test_a_question_costs_at_most_two_calls(tmp_path: Path) -> None:
    (tmp_path / "counted.py").write_text(COUNTED)
    given = ["task=chat", "plugins=[counted.py]", "llm=counted", "tracker=none"]
    questions = "How far away is the Moon?\nAnd how old is it?\n"
    done = run_here(given, tmp_path, stdin=questions)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "calls").read_text().split() == ["answer", "rewrite", "answer"]
    assert "generator=direct answers: one call for a question" in done.stdout


def test_models_of_a_server_choose_for_themselves(tmp_path: Path) -> None:
    models = "task.models={plain: '', nuggets: '+seed=ginger', typed: 'generator=ginger'}"
    with serve_command(tmp_path, models, "tracker=none") as command:
        for name in ("plain", "nuggets", "typed"):
            httpx.post(
                f"{command.address}/api/conversations", json={"model": name}
            ).raise_for_status()
        assert command.stop()[0] == 0
    begun = Conversations(next(tmp_path.rglob("conversations.db"))).list()
    generators = {info.model: info.configuration["generator"]["_option_"] for info in begun}
    assert generators == {"plain": "direct", "nuggets": "ginger", "typed": "ginger"}


def test_a_conversation_begun_with_another_default_says_what_differs(tmp_path: Path) -> None:
    conversations = Conversations(tmp_path / "conversations.db")
    store = f"store.path={tmp_path / 'store'}"
    Pipeline.compose("generator=ginger", store, conversations=conversations).turn("c", "The Moon?")
    chat = Pipeline.compose("task=chat", store, conversations=conversations)
    with pytest.raises(OtherConfiguration, match="generator=ginger.*; this is generator=direct"):
        chat.turn("c", "And the Sun?")
