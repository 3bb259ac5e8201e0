"""The last question is answered again, in the place of the last answer."""

from pathlib import Path
from typing import Any

import pytest

from convrag import (
    LLM,
    Answer,
    Completion,
    Conversations,
    Detector,
    Message,
    Nugget,
    Passage,
    Prompt,
    Store,
)
from convrag.api.errors import ConfigError
from convrag.registry.option import Option
from convrag.store.remember import answer_again, remember
from convrag.turn.stage_pool import StagePool
from toys import EchoLLM, LetterEmbedder, QuotingGenerator, pipeline


class Numbering(EchoLLM):
    """Says how often it was asked."""

    def complete(self, prompt: Any) -> Completion:
        super().complete(prompt)
        return Completion(f"answer {self.asked}")


class Asking(QuotingGenerator):
    """Answers with what an LLM says, and fails where the question says so."""

    def __init__(self, llm: Any) -> None:
        self.llm = llm
        self.broken = False

    def generate(self, question: Any, evidence: Any) -> Answer:
        seen = question.state(self)
        seen["turns"] = seen.get("turns", 0) + 1
        if self.broken:
            raise OSError("broken")
        return Answer(
            self.llm.complete(Prompt("answer", (Message("user", question.text),))).text,
            trace=dict(seen),
        )


def remembering(llm: Any, store: Store) -> Any:
    llm.fingerprint = "f"
    remember(llm, store)
    return llm


@pytest.fixture
def generator(tmp_path: Path) -> Asking:
    return Asking(remembering(Numbering(), Store(tmp_path / "store")))


@pytest.mark.parametrize("kept", [False, True])
def test_another_answer_replaces_the_last(kept: bool, generator: Asking, tmp_path: Path) -> None:
    database = tmp_path / "conversations.db" if kept else None
    chat = pipeline(generator=generator, conversations=Conversations(database))
    chat.turn("c", "one?")
    first = chat.turn("c", "two?")
    second = chat.regenerate("c")
    assert (first.answer.text, second.answer.text) == ("answer 2", "answer 3"), (
        "the store's reply was given again"
    )
    assert (second.number, second.turn_id, second.original_query) == (2, "c<::>2", "two?")
    assert (first.attempt, second.attempt) == (0, 1)
    if kept:
        chat = pipeline(generator=generator, conversations=Conversations(database))
    third = chat.regenerate("c", query="edited", top_k=1)
    assert (third.answer.text, third.attempt, third.rewritten_query) == ("answer 4", 2, "edited")
    assert third.trace["generator"] == {"turns": 1}, "a stage's notes on the turn that is replaced"
    assert [hit.passage.id for hit in third.hits] == ["p0"]
    history = chat.conversations.open("c", "default").history
    assert [turn.answer for turn in history] == ["answer 1", "answer 4"]
    assert chat.turn("c", "three?").attempt == 0
    if kept:
        records = Conversations(database).records("c")
        assert [record.answer.text for record in records] == ["answer 1", "answer 4", "answer 5"]


@pytest.mark.parametrize("kept", [False, True])
def test_where_no_answer_comes_the_last_one_stays(
    kept: bool, generator: Asking, tmp_path: Path
) -> None:
    database = tmp_path / "conversations.db" if kept else None
    chat = pipeline(generator=generator, conversations=Conversations(database))
    chat.turn("c", "one?")
    generator.broken = True
    assert "generator: OSError: broken" in chat.regenerate("c").error
    generator.broken = False
    assert [turn.answer for turn in chat.conversations.open("c", "default").history] == ["answer 1"]
    assert chat.turn("c", "two?").trace["generator"] == {"turns": 2}


def test_without_a_question_there_is_nothing_to_answer() -> None:
    chat = pipeline()
    with pytest.raises(ConfigError, match="there is no conversation 'c': ask its first question"):
        chat.regenerate("c")
    chat.turn("c", "one?")
    chat.reset("c")
    with pytest.raises(ConfigError, match="conversation 'c' has no turn yet"):
        chat.regenerate("c")
    with pytest.raises(ConfigError, match="top_k=0"):
        chat.regenerate("c", top_k=0)


class AskingDetector(Detector):
    """Finds what a model says."""

    def __init__(self, *, llm: LLM) -> None:
        self.llm = llm

    def detect(self, query: str, passage: Passage) -> list[Nugget]:
        text = self.llm.complete(Prompt("detect", (Message("user", query),))).text
        return [Nugget(text, passage.id, 0, len(text))]


def test_stages_that_ask_a_model_compute_again_and_others_do_not(tmp_path: Path) -> None:
    """What a detector found is kept under a key of its own, so the model behind it would not be
    asked again.
    """
    pool, store = StagePool(), Store(tmp_path)
    llm = pool.get(
        Option("llm", "numbering", Numbering, "toy", "toy"), {"mark": ""}, {}, store, "llm"
    )
    option = Option("detector", "asking", AskingDetector, "toy", "toy")
    detector: Any = pool.get(option, {}, {"llm": llm}, store, "detector")
    embedder: Any = pool.get(
        Option("embedder", "letters", LetterEmbedder, "toy", "toy"),
        {"scale": 1.0},
        {},
        store,
        "embedder",
    )
    said = []
    for attempt in (0, 1, 1, 2, 0):
        with answer_again(attempt):
            said += [nugget.text for nugget in detector.detect("q", Passage("p", "text"))]
            embedder.embed(["tea"])
    with answer_again(1):
        pass
    said += [nugget.text for nugget in detector.detect("q", Passage("p", "text"))]
    assert said == ["answer 1", "answer 2", "answer 2", "answer 3", "answer 1", "answer 1"]
    assert embedder.seen == ["tea"]
