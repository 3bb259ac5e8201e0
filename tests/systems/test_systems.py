"""Parts of different systems together: what one plugin promises and another one must keep."""

import re
from pathlib import Path
from typing import Any

import pytest

from convrag import Conversations, Pipeline
from convrag.config.compose import compose
from convrag.sdk.text.refusals import REFUSALS

QUESTIONS = (
    "why does the moon have phases",
    "and why do the phases of the moon follow each other?",
    "how far away is the moon?",
    "what are the phases of the moon called?",
    "which phases of the moon come first?",
    "how far away is the moon at most?",
)


@pytest.mark.parametrize(
    "limits",
    [
        ["generator.window=16000"],
        ["generator.window=6000"],
        ["generator.window=5200"],
        ["generator.characters=1500", "generator.keep_first=false"],
        ["generator.characters=4000", "generator.keep_first=false"],
    ],
)
def test_a_hint_of_dedup_points_at_text_that_chat_sends(limits: list[str], here: Path) -> None:
    """Each hinted passage stands in the messages that were really sent, exactly once; trimming
    brings texts back.
    """
    chat = Pipeline.compose(
        "context=dedup",
        "generator=chat",
        *limits,
        "generator.max_tokens=500",
        "rewriter=none",
    )
    hinted = 0
    for question in QUESTIONS * 2:
        record = chat.turn("c", question)
        assert not record.error
        sent = "\n".join(message.content for message in record.replies[-1][0].messages)
        for item in record.evidence.items:
            if item.hint:
                hinted += 1
                assert sent.count(item.passage.text) == 1, f"{item.passage.id} in {question}"
    assert hinted > 3


@pytest.mark.parametrize("window", range(6000, 8000, 250))
def test_texts_that_come_back_for_hints_fit_the_window(window: int, here: Path) -> None:
    """An exchange that is left out takes its texts with it; those at which others hint are sent
    again, and counted.
    """
    chat = Pipeline.compose(
        "context=dedup",
        "generator=chat",
        f"generator.window={window}",
        "generator.max_tokens=500",
        "rewriter=none",
    )
    for question in QUESTIONS * 3:
        record = chat.turn("c", question)
        earlier = record.replies[-1][0].messages[:-1]
        sizes = [
            len(re.findall(r"\w+|[^\w\s]", text))
            for text in (question, *(each.content for each in earlier))
        ]
        if record.trace["generator"]["exchanges"] > 1:
            assert sum(size + 4 for size in sizes) <= window - 4096 - 500


@pytest.mark.parametrize("generator", ["chat", "direct"])
@pytest.mark.parametrize("context", ["full", "dedup"])
def test_a_passage_has_one_label_in_a_prompt(generator: str, context: str, here: Path) -> None:
    """Its number, before its text; a hint names that number, and stands for itself."""
    chat = Pipeline.compose(
        f"context={context}", f"generator={generator}", "rewriter=none", "top_n=3"
    )
    hints = []
    for question in QUESTIONS:
        record = chat.turn("c", question)
        messages = [message.content for message in record.replies[-1][0].messages]
        sent = "\n\n".join(messages)
        assert "[Doc_" not in sent
        numbers = record.trace["generator"].get("numbers") or {
            i.passage.id: i.number for i in record.evidence.items
        }
        for item in record.evidence.items:
            label = f"[{numbers[item.passage.id]}]"
            before = sent[: sent.index(item.passage.text)].rpartition("\n\n")[2]
            assert before.startswith(label)
            assert before.count("[") == 1
            if item.hint:
                hints.append(item.text)
                assert item.text == f"Please refer to {label} in the previous conversation."
                assert f"\n\n{item.text}" in messages[-1]
    assert bool(hints) == (context == "dedup" and generator == "chat")


def test_hints_cost_an_extractive_answer_nothing(here: Path) -> None:
    """The same answers, with the same citations, as with every text in full."""
    answers = []
    for context in ("full", "dedup"):
        chat = Pipeline.compose("+seed=ragboost", f"context={context}")
        records = [chat.turn("c", question) for question in QUESTIONS * 2]
        answers.append([record.answer.text for record in records])
        hinted = sum(item.hint for record in records for item in record.evidence.items)
        assert bool(hinted) == (context == "dedup")
    assert answers[0] == answers[1]


def test_a_hint_at_nothing_is_no_text(here: Path) -> None:
    """RAGBoost hints at what no message holds; the hint is neither quoted nor cited."""
    chat = Pipeline.compose(
        "rewriter=none", "context=dedup", "context.only_if_present=false", "generator=direct"
    )
    chat.turn("c", QUESTIONS[0])
    second = chat.turn("c", "Does the moon refer to the previous conversation?", query=QUESTIONS[0])
    assert all(item.hint for item in second.evidence.items)
    assert second.answer.text.startswith("I could not find this in the ")
    assert second.answer.citations == ()


def test_a_chat_with_hints_goes_on_after_a_restart(here: Path) -> None:
    """The messages of a conversation that was read from disk are those that it would have had."""
    overrides = ("context=dedup", "generator=chat", "rewriter=none")

    def sent(record: Any) -> Any:
        return record.replies[-1][0].messages

    kept = Pipeline.compose(*overrides, conversations=Conversations(here / "kept.db"))
    for question in QUESTIONS[:4]:
        kept.turn("c", question)
    again = Pipeline.compose(*overrides, conversations=Conversations(here / "kept.db"))
    whole = Pipeline.compose(*overrides)
    for question in QUESTIONS[:4]:
        whole.turn("c", question)
    assert sent(again.turn("c", QUESTIONS[4])) == sent(whole.turn("c", QUESTIONS[4]))


def test_no_rewriter_searches_with_a_refusal(here: Path) -> None:
    """It is no text of the conversation, and stands in no prompt for a rewrite: what rewriters read
    is without it.
    """
    chat = Pipeline.compose("rewriter=mmr_words", "generator=direct")
    refused = chat.turn("c", "what is a zebra?", query="qwzx").answer.text
    assert refused.startswith(REFUSALS)
    record = chat.turn("c", "and how far away is it?")
    prompts = [
        prompt.messages[-1].content for prompt, _ in record.replies if prompt.task == "rewrite"
    ]
    assert not record.error
    assert not any(refused in text for text in prompts)
    assert not any(
        word in query.text
        for query in record.queries
        for word in ("could not find", "do not answer")
    )


def test_answers_of_earlier_turns_are_shown_without_their_numbers(here: Path) -> None:
    """generator=mmr_published: the same number names another passage now."""
    chat = Pipeline.compose("+seed=mmr", "generator=mmr_published")
    first = chat.turn("c", QUESTIONS[0])
    assert "[1]" in first.answer.text
    sent = chat.turn("c", QUESTIONS[2]).prompt[-1].content
    conversation = sent[: sent.index("The passages:")]
    assert first.answer.text.partition(" [")[0] in conversation
    assert "[" not in conversation


@pytest.mark.parametrize("preset", ["ginger", "ginger_lexical"])
def test_ginger_as_published_asks_at_the_temperature_of_the_provider(preset: str) -> None:
    """Its authors left it at OpenAI's own, which is 1; null would take the 0 of llm=litellm."""
    config = compose(f"+system={preset}")
    assert config.generator.temperature == config.summarizer.temperature == 1.0


PRESETS = [
    *("mmr", "dhrag", "perplexity", "ginger", "ragboost", "mtrageval"),
    *("caraman", "uva_irlab", "convsearch_r1", "disco", "dvcqr"),
]


@pytest.mark.parametrize("preset", PRESETS)
def test_each_preset_composes(preset: str) -> None:
    config = compose(f"+system={preset}")
    assert config.rewriter._option_
    assert compose(f"+system={preset}", "rewriter=last_n").rewriter._option_ == "last_n"


@pytest.mark.parametrize("seed", ["mmr", "dhrag", "condense", "ginger", "ragboost"])
def test_each_seed_runs_with_the_extractive_llm(seed: str, here: Path) -> None:
    chat = Pipeline.compose(f"+seed={seed}")
    for question in QUESTIONS[:3]:
        record = chat.turn("c", question)
        assert not record.error
        assert record.answer.text
