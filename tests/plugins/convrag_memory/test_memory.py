"""The memories: recent, relevant, summary, forgetting."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from convrag import (
    LLM,
    Completion,
    Conversations,
    Memory,
    MemoryView,
    Passage,
    Pipeline,
    Prompt,
    Question,
    Turn,
)
from convrag.api.errors import ConfigError, LLMError
from convrag.sdk.text.analysis import is_stop_word
from convrag.store.remember import find_attempt
from convrag.testing import MemoryContract
from convrag_memory.forgetting import ForgettingMemory
from convrag_memory.recent import RecentMemory
from convrag_memory.relevant import RelevantMemory
from convrag_memory.summary import QUESTION, SummaryMemory
from toys import LetterEmbedder, pipeline


class SummarisingLLM(LLM):
    """Says back which turns it was given, and keeps its prompts; fails while `down`."""

    def __init__(self, *, rules: bool = False) -> None:
        self.rules = rules
        self.down = False
        self.prompts: list[Prompt] = []
        self.attempts: list[int] = []
        self.counted = 0

    @property
    def tasks(self) -> Any:
        return frozenset(("rewrite",)) if self.rules else None

    def complete(self, prompt: Prompt) -> Completion:
        if self.down:
            raise LLMError("the server is down")
        self.prompts.append(prompt)
        self.attempts.append(find_attempt(self))
        said = "; ".join(turn["user"] for turn in prompt.inputs["history"])
        return Completion(
            f"{prompt.inputs['summary']} They spoke of: {said}".strip(), model="summarising"
        )

    def count_tokens(self, text: str) -> int:
        self.counted += 1
        return len(text.split())


def talk(n: int, words: int = 3) -> tuple[Turn, ...]:
    """Turns about a city of their own each: question of three words, answer of `words` words."""
    return tuple(
        Turn(
            f"c<::>{k}",
            f"Where is town{k}?",
            " ".join(["Town", f"town{k}", "lies", *["far"] * words][:words]),
        )
        for k in range(1, n + 1)
    )


def ask(
    memory: Memory, history: Sequence[Turn], text: str = "And then?", state: Any = None
) -> MemoryView:
    kept = {} if state is None else state
    return memory.view(
        Question(text, "c", f"c<::>{len(history) + 1}", history=tuple(history), stage_state=kept)
    )


def ids(view: MemoryView) -> list[str]:
    return [turn.id.removeprefix("c<::>") for turn in view.history]


def ask_all(memory: Memory, history: Sequence[Turn], state: Any) -> list[MemoryView]:
    """The view of every turn of a conversation, and of one question more."""
    asked = [*(turn.question for turn in history), "And then?"]
    return [ask(memory, history[:n], text, state) for n, text in enumerate(asked)]


def make_all() -> list[Memory]:
    return [
        RecentMemory(llm=SummarisingLLM(), turns=3),
        RelevantMemory(embedder=LetterEmbedder(), turns=3),
        SummaryMemory(llm=SummarisingLLM(), recent=2, block=2),
        SummaryMemory(llm=SummarisingLLM(rules=True), recent=2, block=3, words=30),
        ForgettingMemory(llm=SummarisingLLM(), tokens=20),
    ]


class TestRecentContract(MemoryContract):
    def make(self) -> RecentMemory:
        return RecentMemory(llm=SummarisingLLM(), turns=1)


class TestRelevantContract(MemoryContract):
    def make(self) -> RelevantMemory:
        return RelevantMemory(embedder=LetterEmbedder(), turns=1, last=0, threshold=-1)


class TestSummaryContract(MemoryContract):
    def make(self) -> SummaryMemory:
        return SummaryMemory(llm=SummarisingLLM(), recent=1, block=1)


class TestForgettingContract(MemoryContract):
    def make(self) -> ForgettingMemory:
        return ForgettingMemory(llm=SummarisingLLM(), tokens=10)


@pytest.mark.parametrize("memory", make_all(), ids=lambda memory: type(memory).__name__)
def test_turn_by_turn_is_the_same_as_from_the_start(memory: Memory) -> None:
    history = talk(15)
    going = ask_all(memory, history, {})
    assert going == [ask(memory, history[:n], asked, {}) for n, asked in _list_questions(history)]


def _list_questions(history: Sequence[Turn]) -> list[tuple[int, str]]:
    return list(enumerate([*(turn.question for turn in history), "And then?"]))


@pytest.mark.parametrize("memory", make_all(), ids=lambda memory: type(memory).__name__)
def test_a_turn_that_was_taken_back_leaves_nothing(memory: Memory) -> None:
    """As after Pipeline.regenerate, or where another process has begun the conversation anew."""
    history, state = talk(9), dict[object, dict[str, Any]]()
    ask_all(memory, history, state)
    other = (
        *history[:5],
        *(replace(turn, question="Who is it?", answer="It is Ann.") for turn in history[5:]),
    )
    for changed in (history[:8], other, other[:6], history):
        assert ask(memory, changed, state=state) == ask(memory, changed)


@pytest.mark.parametrize("memory", make_all(), ids=lambda memory: type(memory).__name__)
def test_the_last_turn_is_always_seen(memory: Memory) -> None:
    for n in range(1, 12):
        assert ask(memory, talk(n, words=100)).history[-1] == talk(n, words=100)[-1]


def test_parameters_that_do_not_fit_together() -> None:
    with pytest.raises(ConfigError, match="memory.turns=null and memory.tokens=null"):
        RecentMemory(llm=SummarisingLLM(), turns=None)
    with pytest.raises(ConfigError, match="memory.last=3"):
        RelevantMemory(embedder=LetterEmbedder(), turns=2, last=3)


# recent


def test_recent_turns_and_tokens() -> None:
    history = talk(6)  # of six tokens each
    assert ids(ask(RecentMemory(llm=SummarisingLLM(), turns=2), history)) == ["5", "6"]
    assert ids(ask(RecentMemory(llm=SummarisingLLM(), turns=None, tokens=18), history)) == [
        "4",
        "5",
        "6",
    ]
    assert ids(ask(RecentMemory(llm=SummarisingLLM(), turns=None, tokens=17), history)) == [
        "5",
        "6",
    ]
    assert ids(ask(RecentMemory(llm=SummarisingLLM(), turns=2, tokens=18), history)) == ["5", "6"]
    view = ask(RecentMemory(llm=SummarisingLLM(), turns=4, tokens=1), history)
    assert ids(view) == ["6"]
    assert view.trace == {"turns": 6, "seen": 1, "tokens": 6, "tokens_of_all": 36}


# relevant


def test_relevant_turns_come_with_their_similarities() -> None:
    said = ("aa", "bb", "ab", "cc", "dd", "ee")
    history = tuple(Turn(f"c<::>{n}", text, text) for n, text in enumerate(said, 1))
    memory = RelevantMemory(embedder=LetterEmbedder(), turns=3, threshold=0.3)
    view = ask(memory, history, "aaa")
    assert ids(view) == ["1", "3", "6"]
    assert view.trace["similarities"] == {"c<::>1": 1.0, "c<::>3": 0.7071, "c<::>6": 0.0}
    assert ids(ask(memory, history, "ggg")) == ["6"]
    assert ids(ask(RelevantMemory(embedder=LetterEmbedder(), turns=2, last=0), history, "ccc")) == [
        "4"
    ]
    assert ids(
        ask(RelevantMemory(embedder=LetterEmbedder(), turns=4, threshold=-1), history, "aaa")
    ) == [
        *("1", "3", "5", "6")  # of equal ones the newer
    ]


# summary


def test_older_turns_are_summarised_in_blocks_once_each() -> None:
    llm, history = SummarisingLLM(), talk(11)
    views = ask_all(SummaryMemory(llm=llm, recent=4, block=3), history, {})
    assert [len(view.history) for view in views] == [0, 1, 2, 3, 4, 5, 6, 5, 6, 7, 5, 6]
    given = [[turn["user"] for turn in prompt.inputs["history"]] for prompt in llm.prompts]
    assert given == [
        [turn.question for turn in history[:3]],
        [turn.question for turn in history[3:6]],
    ]
    assert [prompt.inputs["summary"] for prompt in llm.prompts] == [
        "",
        "They spoke of: Where is town1?; Where is town2?; Where is town3?",
    ]
    made, *verbatim = views[-1].history
    assert made.id == "summary of c<::>1 to c<::>6"
    assert (made.question, made.passages) == (QUESTION, ())
    assert "town2" in made.answer
    assert tuple(verbatim) == history[6:]
    assert views[-1].trace["summarised"] == 6
    assert views[-1].trace["summary"] == made.answer


def test_the_question_of_a_summary_adds_nothing_to_a_search_by_words() -> None:
    assert all(is_stop_word(word.strip("?")) for word in QUESTION.split())


def test_a_model_that_fails_leaves_the_turns_as_they_are_and_is_asked_at_the_next_turn() -> None:
    llm, history, state = SummarisingLLM(), talk(9), dict[object, dict[str, Any]]()
    memory = SummaryMemory(llm=llm, recent=2, block=2)
    ask_all(memory, history[:5], state)
    llm.down = True
    view = ask(memory, history[:7], state=state)
    assert "the server is down" in view.fallback
    assert ids(view) == ["summary of c<::>1 to c<::>2", "3", "4", "5", "6", "7"]
    llm.down = False
    assert ask(memory, history, state=state) == ask(memory, history)
    assert not ask(memory, history, state=state).fallback


def test_a_long_reply_is_cut_behind_a_sentence() -> None:
    class Talkative(SummarisingLLM):
        def complete(self, prompt: Prompt) -> Completion:
            return Completion("One two three four. " * 50, model="talkative")

    view = ask(SummaryMemory(llm=Talkative(), recent=1, block=1, words=7), talk(2))
    assert view.history[0].answer == "One two three four. One two three four. One two three four."


def test_an_empty_reply_is_no_summary() -> None:
    class Silent(SummarisingLLM):
        def complete(self, prompt: Prompt) -> Completion:
            return Completion("  \n", model="silent")

    view = ask(SummaryMemory(llm=Silent(), recent=1, block=1), talk(3))
    assert view.history == talk(3)
    assert "empty" in view.fallback


def test_rules_take_sentences_with_the_words_of_the_question() -> None:
    history = (
        Turn(
            "c<::>1",
            "How hot is green tea?",
            "Tea is old. Green tea is brewed at 80 degrees. Enjoy it, my friend.",
        ),
        Turn("c<::>2", "And black tea?", "Sure. Black tea takes boiling water."),
        Turn("c<::>3", "And coffee?", ""),
        Turn("c<::>4", "Thanks.", "You are welcome."),
    )
    view = ask(SummaryMemory(llm=SummarisingLLM(rules=True), recent=1, block=3, words=14), history)
    assert (
        view.history[0].answer
        == "Green tea is brewed at 80 degrees. Black tea takes boiling water."
    )
    assert view.trace["by"] == "rules"


def test_rules_summarise_questions_where_there_are_no_answers() -> None:
    """As with generator=none and history=generated."""
    history = tuple(
        Turn(f"c<::>{n}", f"Where does the river number {n} begin?") for n in range(1, 4)
    )
    made, *_ = ask(
        SummaryMemory(llm=SummarisingLLM(rules=True), recent=1, block=2), history
    ).history
    assert (
        made.answer == "Where does the river number 1 begin? Where does the river number 2 begin?"
    )


def test_a_summary_by_rules_does_not_grow() -> None:
    history = tuple(
        Turn(
            f"c<::>{n}",
            f"What is place {n}?",
            f"Place {n} is a place near place {n + 1}. It has walls.",
        )
        for n in range(1, 200)
    )
    sizes = [
        len(view.history[0].answer.split())
        for view in ask_all(SummaryMemory(llm=SummarisingLLM(rules=True), words=50), history, {})[
            10:
        ]
    ]
    assert max(sizes) <= 50


def test_the_method_may_be_chosen() -> None:
    rules = SummarisingLLM(rules=True)
    assert list(SummaryMemory(llm=rules, method="llm").check())
    assert not list(SummaryMemory(llm=rules).check())
    assert "extracted" in SummaryMemory(llm=rules).note()
    assert (
        ask(SummaryMemory(llm=SummarisingLLM(), method="extractive"), talk(12, words=8)).trace["by"]
        == "rules"
    )


# forgetting


def test_what_does_not_fit_is_forgotten_oldest_first_and_named() -> None:
    memory, history = ForgettingMemory(llm=SummarisingLLM(), tokens=18), talk(5)
    views = ask_all(memory, history, {})
    assert [ids(view) for view in views[3:]] == [["1", "2", "3"], ["2", "3", "4"], ["3", "4", "5"]]
    assert views[4].trace["fell_out"] == ["c<::>1"]
    assert views[5].trace["fell_out"] == ["c<::>2"]
    assert views[5].trace["tokens"] == 18
    assert views[5].trace["tokens_of_all"] == 30


def test_what_is_spoken_of_again_comes_back() -> None:
    memory, history = ForgettingMemory(llm=SummarisingLLM(), tokens=12), talk(5)
    view = ask(memory, history, "Is town1 old?")
    assert ids(view) == ["1", "5"]
    assert view.trace["recalled"] == ["c<::>1"]
    assert view.trace["weights"] == {"c<::>1": 1.0, "c<::>5": 0.3679}


def test_a_turn_that_was_used_is_kept_longer() -> None:
    said = list(talk(6))
    said[3] = replace(said[3], question="Is town1 old?")
    memory = ForgettingMemory(llm=SummarisingLLM(), tokens=24)
    assert ids(ask(memory, talk(6))) == ["3", "4", "5", "6"]
    assert ids(ask(memory, said)) == [
        "1",
        "4",
        "5",
        "6",
    ]  # 1 was used by 4: age 3 of strength 2, before 3 of age 4


def test_an_answer_from_a_turns_passage_uses_it() -> None:
    said = list(talk(6))
    said[0] = replace(said[0], passages=(Passage("p", "text"),))
    said[3] = replace(said[3], passages=(Passage("q", "text"), Passage("p", "text")))
    assert ids(ask(ForgettingMemory(llm=SummarisingLLM(), tokens=24), said)) == ["1", "4", "5", "6"]


def test_a_turn_that_does_not_fit_makes_room_for_a_lighter_one() -> None:
    said = list(talk(4))
    said[2] = talk(4, words=50)[2]
    assert ids(ask(ForgettingMemory(llm=SummarisingLLM(), tokens=18), said)) == ["1", "2", "4"]


# all of them


def test_nothing_is_lost_from_the_conversation(tmp_path: Path) -> None:
    path, llm = tmp_path / "conversations.db", SummarisingLLM()
    memory = ForgettingMemory(llm=llm, tokens=1)
    chat = pipeline(memory=memory, conversations=Conversations(path))
    questions = [f"What of town{n}?" for n in range(12)]
    records = [chat.turn("c", text) for text in questions]
    assert records[-1].trace["memory"]["seen"] == 1
    assert records[-1].trace["memory"]["turns"] == 11
    chat.conversations.close()
    again = pipeline(memory=memory, conversations=Conversations(path))
    kept = again.conversations.find("c")
    assert kept is not None
    assert [turn.question for turn in kept.history] == questions
    assert [record.original_query for record in again.conversations.records("c")] == questions
    assert again.turn("c", "And town3?").trace["memory"]["turns"] == 12
    again.conversations.close()
    report = memory.report(records)
    assert report is not None
    assert report.numbers["fell_out"] == 10
    assert report.numbers["mean_seen"] == 1
    assert "10 times a turn fell out of view" in " ".join(report.lines)


def test_a_composed_pipeline_sees_a_summary_and_says_so(tmp_path: Path) -> None:
    """The pipeline that task=chat and task=serve talk through."""
    found = [
        Passage(f"p{n}", f"Town{n} lies by the river Elbe since {1900 + n}.") for n in range(9)
    ]
    overrides = [
        "memory=summary",
        "memory.recent=1",
        "memory.block=2",
        "generator=direct",
        f"store.path={tmp_path}",
    ]
    chat = Pipeline.over(
        found, *overrides, conversations=Conversations(tmp_path / "conversations.db")
    )
    for n in range(5):
        answer = chat.stream("c", f"Where does Town{n} lie?")
        assert "".join(answer)
        record = answer.record
    assert not record.error
    assert record.trace["memory"]["summarised"] == 2
    assert record.trace["memory"]["by"] == "rules"
    assert "Town0 lies by the river Elbe since 1900." in record.prompt[-1].content
    assert "Where does Town0 lie?" not in record.prompt[-1].content
    assert "What was said before this?" in record.prompt[-1].content
    assert len(chat.conversations.records("c")) == 5
    chat.conversations.close()
