"""What reads the history works with every view of it: with turns that left or came back, and with a
summary.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from convrag import (
    LLM,
    Completion,
    Hit,
    MemoryView,
    Passage,
    Pipeline,
    Prompt,
    Question,
    Rewrite,
    Turn,
)
from convrag.api.stages import Memory, Retriever, Rewriter
from convrag_basics.contexts import FullContext
from convrag_basics.direct import DirectGenerator
from convrag_basics.none import NoRanker
from convrag_clusterers.embeddings import KMeansClusterer
from convrag_condense.chat import ChatGenerator
from convrag_condense.rewriter import CondenseRewriter
from convrag_dedup.context import DedupContext
from convrag_dhrag.rewriter import DHRagRewriter
from convrag_fusion.rewriters import ReformulateRewriter
from convrag_memory.forgetting import ForgettingMemory
from convrag_memory.recent import RecentMemory
from convrag_memory.relevant import RelevantMemory
from convrag_memory.summary import SummaryMemory
from convrag_mmr.rewriter import MMRRewriter
from convrag_rewriters.baselines import AllQuestionsRewriter, LastNRewriter
from convrag_rewriters.blend import BlendRewriter
from convrag_rewriters.full_history import FullHistoryRewriter
from convrag_rewriters.threshold import ThresholdRewriter
from convrag_rewriters.weighted_history import WeightedHistoryRewriter
from toys import LetterEmbedder, ListRetriever


class Scribe(LLM):
    """Answers with citations, rewrites with the last user's words, summarises in a line; keeps its prompts."""

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []

    def complete(self, prompt: Prompt) -> Completion:
        self.prompts.append(prompt)
        if prompt.task == "summary":
            return Completion("Towns were spoken of.", model="scribe")
        if prompt.task == "rewrite":
            return Completion(f"{prompt.inputs['question']} in the north", model="scribe")
        numbers = [
            item["number"] for item in prompt.inputs.get("evidence", ()) if item.get("number")
        ]
        return Completion(
            "It lies there " + "".join(f"[{n}]" for n in numbers) + ".", model="scribe"
        )

    def count_tokens(self, text: str) -> int:
        return len(text.split())


class Finds(Retriever):
    """Finds two new passages for the number in the first query, and one of the first turn."""

    def retrieve(self, queries: Any, k: int) -> list[Hit]:
        number = int(re.findall(r"\d+", queries[0].text)[0])
        found = dict.fromkeys([2 * number, 2 * number + 1, 1])
        return [
            Hit(Passage(f"p{n}", f"Passage number {n} of the book."), 1.0 - n / 100) for n in found
        ]


class Plain(Rewriter):
    def rewrite(self, question: Question) -> Rewrite:
        return Rewrite.of(question.text)


class Window(Memory):
    """Shows the last two turns, and moves."""

    def view(self, question: Question) -> MemoryView:
        return MemoryView(question.history[-2:])


LATER = 9
"""Turns of a conversation in which every memory below has left turns out."""


def make_memories() -> dict[str, Memory]:
    llm = Scribe()
    return {
        "recent": RecentMemory(llm=llm, turns=2),
        "relevant": RelevantMemory(embedder=LetterEmbedder(), turns=3, threshold=-1),
        "summary": SummaryMemory(llm=llm, recent=2, block=2),
        "forgetting": ForgettingMemory(llm=llm, tokens=20),
    }


def make_rewriters(embedder: Any) -> dict[str, Rewriter]:
    llm = Scribe()
    return {
        "all_questions": AllQuestionsRewriter(),
        "last_n": LastNRewriter(n=3, answers=True),
        "blend": BlendRewriter(),
        "weighted_history": WeightedHistoryRewriter(llm=llm),
        "full_history": FullHistoryRewriter(llm=llm),
        "reformulate": ReformulateRewriter(llm=llm, kind="keywords"),
        "threshold": ThresholdRewriter(llm=llm, embedder=embedder, threshold=-1),
        "mmr": MMRRewriter(llm=llm, embedder=embedder, clusterer=KMeansClusterer()),
        "dhrag": DHRagRewriter(llm=llm, embedder=embedder),
        "condense": CondenseRewriter(llm=llm, retriever=ListRetriever(), guard=0.1),
    }


def make_pipeline(memory: Memory | None, llm: Scribe, **stages: Any) -> Pipeline:
    chosen: dict[str, Any] = {
        "rewriter": Plain(),
        "retriever": Finds(),
        "reranker": NoRanker(),
        "context": DedupContext(llm=llm),
        "generator": ChatGenerator(llm=llm),
    }
    return Pipeline(memory=memory, **(chosen | stages))


def converse(n: int) -> tuple[Turn, ...]:
    return tuple(
        Turn(f"c<::>{k}", f"Where is town{k} by a cliff?", f"Town{k} is a place near bridge{k}.")
        for k in range(1, n + 1)
    )


@pytest.mark.parametrize("name", list(make_rewriters(None)))
@pytest.mark.parametrize("memory", list(make_memories()))
def test_a_rewriter_that_goes_on_gives_what_one_gives_that_begins(name: str, memory: str) -> None:
    """What it keeps in its state is of the view: nothing of a turn that has left stays in a
    rewrite.
    """
    going_memory, state = make_memories()[memory], dict[object, dict[str, Any]]()
    going = make_rewriters(LetterEmbedder())[name]
    history = converse(LATER)
    for n in range(LATER + 1):
        asked = Question(
            f"And is town{n} big?", "c", f"c<::>{n + 1}", number=n + 1, history=history[:n]
        )
        view = going_memory.view(replace(asked, stage_state=state))
        seen = replace(asked, history=view.history, before_memory=history[:n])
        rewrite = going.rewrite(replace(seen, stage_state=state))
        assert rewrite == make_rewriters(LetterEmbedder())[name].rewrite(seen)
        assert not rewrite.fallback


def find_numbers(messages: Sequence[Any]) -> dict[str, set[str]]:
    """Label of a passage in messages -> the passages that have it."""
    found: dict[str, set[str]] = {}
    for message in messages:
        for label, passage in re.findall(r"\[(\d+)\]\s*(Passage number \d+)", message.content):
            found.setdefault(label, set()).add(passage)
    return found


@pytest.mark.parametrize("memory", [*make_memories(), "window"])
def test_a_chats_numbers_are_those_of_the_whole_conversation(memory: str) -> None:
    """An answer in the view cites [3]: that is the passage it was when the answer was given."""
    llms = Scribe(), Scribe()
    going = make_pipeline(None, llms[0])
    viewed = make_pipeline(Window() if memory == "window" else make_memories()[memory], llms[1])
    for n in range(LATER):
        whole, part = (chat.turn("c", f"Where is town {n}?") for chat in (going, viewed))
        assert not part.error
        assert (
            part.trace["generator"]["numbers"].items()
            <= whole.trace["generator"]["numbers"].items()
        )
        assert part.answer.citations
        assert part.trace["generator"]["citations_removed"] == 0
        shown = [find_numbers(llm.prompts[-1].messages) for llm in llms]
        assert shown[1].items() <= shown[0].items()
    assert len(llms[1].prompts[-1].messages) < len(llms[0].prompts[-1].messages)


@pytest.mark.parametrize("memory", [*make_memories(), "window"])
def test_a_hint_points_only_at_text_that_is_sent(memory: str) -> None:
    llm = Scribe()
    chat = make_pipeline(Window() if memory == "window" else make_memories()[memory], llm)
    again = hints = 0
    for n in range(LATER):
        record = chat.turn("c", f"Where is town {n}?")
        sent = "\n".join(message.content for message in llm.prompts[-1].messages[:-1])
        for item in record.evidence.items:
            assert not item.hint or item.passage.text in sent
            hints += item.hint
        again += record.trace["context"]["num_sent_again"]
    assert hints or again


def test_evidence_of_the_first_turn_is_sent_whatever_the_memory_shows() -> None:
    """With evidence=first_turn it is all the evidence that there is, and a later turn's was never
    shown.
    """
    llm = Scribe()
    chat = make_pipeline(
        Window(),
        llm,
        context=FullContext(),
        generator=ChatGenerator(llm=llm, evidence="first_turn"),
    )
    for n in range(5):
        chat.turn("c", f"Where is town {n}?")
    sent = "\n".join(message.content for message in llm.prompts[-1].messages)
    assert "Passage number 0 " in sent
    assert not re.search("Passage number [2-9] ", sent)
    assert "Where is town 1?" not in sent
    assert "Where is town 3?" in sent


def test_a_summary_is_the_first_exchange_of_a_chat() -> None:
    llm = Scribe()
    chat = make_pipeline(SummaryMemory(llm=Scribe(), recent=1, block=2), llm)
    for n in range(6):
        chat.turn("c", f"Where is Town {n}?")
    messages = llm.prompts[-1].messages
    assert [message.role for message in messages] == ["system", *["user", "assistant"] * 2, "user"]
    assert messages[1].content == "What was said before this?"
    assert messages[2].content == "Towns were spoken of."
    assert messages[3].content.startswith("Where is Town 4?")


def test_a_stable_order_is_that_of_the_whole_conversation() -> None:
    """A passage that an old turn showed first comes first, also where that turn has left the view."""
    a, b = Passage("a", "A."), Passage("b", "B.")
    history = (Turn("1", "q", "x", (a,)), Turn("2", "q", "x", (b,)), Turn("3", "q", "x", (b, a)))
    asked = Question("q", history=history[1:], before_memory=history, number=4)
    shown = FullContext(order="stable").assemble(asked, [Hit(b, 2.0), Hit(a, 1.0)], ())
    assert [item.passage.id for item in shown.items] == ["a", "b"]


def test_the_sentences_of_mmr_are_named_by_their_turns_in_the_conversation() -> None:
    memory, history = make_memories()["summary"], converse(6)
    asked = Question("And then?", history=history, number=7)
    seen = replace(asked, history=memory.view(asked).history, before_memory=history)
    trace = make_rewriters(LetterEmbedder())["mmr"].rewrite(seen).trace
    assert {each["turn"] for each in trace["extracted_sentences"]} == {0, 5, 6}


@pytest.mark.parametrize("memory", list(make_memories()))
def test_a_direct_prompt_has_the_view_alone(memory: str) -> None:
    llm = Scribe()
    chat = make_pipeline(
        make_memories()[memory], llm, context=FullContext(), generator=DirectGenerator(llm=llm)
    )
    for n in range(LATER):
        chat.turn("c", f"Where is town {n}?")
    asked = re.findall(r"User: (.+)", llm.prompts[-1].messages[-1].content)
    assert 0 < len(asked) < LATER - 1
    assert asked[-1] == f"Where is town {LATER - 2}?"
    assert (asked[0] == "What was said before this?") is (memory == "summary")
