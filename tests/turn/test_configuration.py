"""A conversation goes on with the configuration that it was begun with."""

from pathlib import Path
from typing import Any

import pytest

from convrag.api.errors import ConfigError, OtherConfiguration
from convrag.config.compose import compose_command
from convrag.registry.option import Option
from convrag.turn.conversations import Conversations, find_differences
from convrag.turn.pipeline import Pipeline
from convrag.turn.stage_pool import describe_stage
from toys import EchoLLM


def compose(conversations: Conversations, *overrides: str) -> Pipeline:
    return Pipeline.compose("llm=extractive", "metrics=[]", *overrides, conversations=conversations)


def test_the_configuration_has_what_bears_on_results(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEA_TEXT", "0.4")
    (here / "corpus.jsonl").write_text('{"_id": "p", "text": "Green tea."}\n', encoding="utf-8")
    chat = compose(
        Conversations(),
        "dataset=jsonl",
        "dataset.corpus=corpus.jsonl",
        "rewriter=mmr",
        "rewriter.embedder=lsa",
        "rewriter.embedder.dimensions=8",
        "retriever=dense",
        "generator.refuse=${oc.env:TEA_TEXT}",
        "top_k=7",
        "workers=3",
    )
    found = chat.configuration
    assert found["settings"] == {"top_k": 7, "top_n": 5, "history": "generated"}
    assert found["dataset"]["corpus"] == str(here / "corpus.jsonl")
    assert (found["rewriter"]["_option_"], found["rewriter"]["lambda_"]) == ("mmr", 0.7)
    assert (found["rewriter.embedder"]["dimensions"], found["embedder"]["dimensions"]) == (8, 256)
    assert "batch_size" not in found["retriever"]
    assert found["generator"]["refuse"] == "${oc.env:TEA_TEXT}"
    assert "a secret word" not in str(found)
    assert not {"task", "tracker", "metrics"} & {place.partition(".")[0] for place in found}


@pytest.mark.parametrize("kept", [False, True])
def test_a_conversation_goes_on_with_its_configuration_alone(kept: bool, here: Path) -> None:
    """A chat over one's own files went on silently over the bundled sample."""
    conversations = Conversations(here / "conversations.db" if kept else None)
    chat = compose(conversations, "rewriter=last_n")
    chat.turn("c", "How far is the Moon?")
    chat.turn("c", "And the Sun?")
    again = Conversations(here / "conversations.db") if kept else conversations
    other = compose(again, "rewriter=none", "top_k=20")
    message = "'c' was begun with rewriter=last_n, top_k=10; this is rewriter=none, top_k=20. Choose what it was"
    for ask in (
        lambda: other.turn("c", "Why?"),
        lambda: other.rewrite("c", "Why?"),
        lambda: other.regenerate("c"),
    ):
        with pytest.raises(OtherConfiguration, match=message) as caught:
            ask()
    assert caught.value.differences == [
        ("rewriter=last_n", "rewriter=none"),
        ("top_k=10", "top_k=20"),
    ]
    assert other.turn("d", "How far is the Moon?").number == 1
    assert compose(again, "rewriter=last_n", "workers=2").turn("c", "Why?").number == 3


@pytest.mark.parametrize(
    ("begun", "now", "expected"),
    [
        ({"a": {"_option_": "x", "n": 1}}, {"a": {"_option_": "x", "n": 1}}, []),
        ({"a": {"_option_": "x", "n": 1}}, {"a": {"_option_": "x", "n": 2}}, [("a.n=1", "a.n=2")]),
        ({"a": {"_option_": "x", "n": 1}}, {"a": {"_option_": "y", "n": 2}}, [("a=x", "a=y")]),
        (
            {"a": {"_option_": "x"}, "a.b": {"_option_": "z"}},
            {"a": {"_option_": "y"}},
            [("a=x", "a=y")],
        ),
        (
            {"a": {"_option_": "x"}, "a.b": {"_option_": "z"}},
            {"a": {"_option_": "x"}},
            [("a.b=z", "a.b=none")],
        ),
        (
            {"a": {"_option_": "x"}, "b": {"_option_": "z"}},
            {"a": {"_option_": "y"}},
            [("a=x", "a=y")],
        ),
        ({"a": {"_option_": "x", "old": 1}}, {"a": {"_option_": "x", "new": 1}}, []),
    ],
)
def test_differences(begun: Any, now: Any, expected: Any) -> None:
    assert find_differences(begun, now) == expected


def test_a_message_names_some_differences() -> None:
    differences = [(f"a.n{number}=1", f"a.n{number}=2") for number in range(8)]
    assert "a.n4=2 (and 3 more differences). Choose" in str(OtherConfiguration("c", differences))


class Keyed(EchoLLM):
    """Takes a key, an address and paths."""

    def __init__(
        self, *, api_key: str = "", address: str = "", paths: tuple[Path, ...] = (), n: int = 0
    ) -> None: ...


def test_no_secret_stands_in_a_configuration(here: Path) -> None:
    option = Option("llm", "keyed", Keyed, "toy", "toy")
    values = {
        "api_key": "word-word",
        "address": "http://me:hunter2@host/x",
        "paths": (Path("a"), Path("~")),
        "n": 3,
    }
    described = describe_stage(option, values, None)
    assert described == {
        "_option_": "keyed",
        "api_key": "***",
        "address": "***",
        "paths": [str(here / "a"), str(Path.home())],
        "n": 3,
    }
    written = {"api_key": "${oc.env:MY_KEY}", "address": "${oc.env:MY_ADDRESS}"}
    referred = describe_stage(option, values, written)
    assert (referred["api_key"], referred["address"]) == (
        "${oc.env:MY_KEY}",
        "${oc.env:MY_ADDRESS}",
    )


@pytest.mark.parametrize(
    "address", ["postgresql+psycopg://me:hunter2@host/x", "postgresql://me@host/x?password=hunter2"]
)
def test_an_address_with_a_password_is_refused_in_a_command(address: str) -> None:
    with pytest.raises(ConfigError) as caught:
        compose_command("task=chat", f"+task.conversations='{address}'")
    assert "hunter2" not in str(caught.value)
    assert "environment variable" in str(caught.value)
