"""The time of a turn at both ends of a conversation of 2,000 turns (-s prints it)."""

import json
import statistics
import time
from pathlib import Path
from typing import Any

import pytest

from convrag.api.completions import Completion, Prompt
from convrag.api.conversations import Turn
from convrag.api.evidence import Evidence, EvidenceItem
from convrag.api.passages import Hit, Passage
from convrag.api.queries import Query
from convrag.api.session import Session
from convrag.api.stage import LLM
from convrag.api.stages import Retriever
from convrag.turn.conversations import Conversations
from convrag.turn.pipeline import Pipeline
from convrag_basics.none import NoRanker
from convrag_condense.chat import ChatGenerator
from convrag_condense.rewriter import CondenseRewriter
from convrag_dedup.context import DedupContext

TURNS = 2000
EARLY = slice(180, 220)  # as many exchanges are sent as at the end
LATE = slice(-40, None)
MOST = 2.0
"""The most that a late turn may take, as a multiple of an early one."""


class Answers(LLM):
    """Says the same, at once."""

    def complete(self, prompt: Prompt) -> Completion:
        return Completion("It is known that kettles whistle [1][2].", model="answers")

    def count_tokens(self, text: str) -> int:
        return len(text.split())


class Finds(Retriever):
    """Finds three new passages for the number in a question, and two earlier ones."""

    def retrieve(self, queries: Any, k: int) -> list[Hit]:
        words = queries[0].text.replace("?", "").split()
        number = next((int(word) for word in reversed(words) if word.isdigit()), 0)
        old = [(number * 7919 + place * 104_729) % (3 * number + 1) for place in range(2)]
        found = dict.fromkeys([*(3 * number + place for place in range(3)), *old])
        return [Hit(passage(each), 1.0 - place / 100) for place, each in enumerate(found)]


def passage(number: int) -> Passage:
    return Passage(f"p{number}", f"Passage {number} {'word ' * 150}", title=f"Title {number}")


def report(name: str, times: list[float]) -> float:
    early, late = statistics.median(times[EARLY]), statistics.median(times[LATE])
    print(
        f"{name}: {1e3 * early:.2f} ms at turn 200, {1e3 * late:.2f} ms at turn {TURNS:,}: {late / early:.2f} times"
    )
    return late / early


@pytest.mark.parametrize("evidence", ["every_turn", "first_turn"])
def test_a_turn_of_the_chat(evidence: Any) -> None:
    """The messages are asked for twice, as in a turn of the pipeline."""
    chat, going, times = ChatGenerator(llm=Answers(), evidence=evidence), Session("c"), []
    for number in range(TURNS):
        found = [hit.passage for hit in Finds().retrieve((Query(f"{number}"),), 5)]
        shown = Evidence(
            tuple(EvidenceItem(place, each, each.content) for place, each in enumerate(found, 1))
        )
        start = time.thread_time()
        question = going.make_question(f"What about {number}?")
        chat.messages(question)
        answer = chat.generate(question, shown)
        times.append(time.thread_time() - start)
        going.add_turn(
            Turn(question.turn_id, question.text, answer.text, tuple(found), shown=shown.items)
        )
    assert report(f"generator=chat, evidence={evidence}", times) < MOST


@pytest.mark.parametrize("gate", ["heuristic", "always"])
def test_a_turn_of_the_pipeline(gate: Any, tmp_path: Path) -> None:
    """Time rewriter=condense, context=dedup and generator=chat with a stored conversation."""
    llm = Answers()
    pipeline = Pipeline(
        rewriter=CondenseRewriter(llm=llm, retriever=Finds(), gate=gate, guard=0.1),
        retriever=Finds(),
        reranker=NoRanker(),
        context=DedupContext(llm=llm),
        generator=ChatGenerator(llm=llm),
        conversations=Conversations(tmp_path / "conversations.db"),
    )
    times, hints = [], 0
    for number in range(TURNS):
        start = time.thread_time()
        record = pipeline.turn("c", f"What about {number}?")
        times.append(time.thread_time() - start)
        assert not record.error
        hints += sum(item.hint for item in record.evidence.items)
    assert hints
    assert report(f"a turn, gate={gate}", times) < MOST


@pytest.mark.parametrize("rewriter", ["auto", "last_n", "weighted_history", "blend", "none"])
def test_a_turn_of_the_sample(rewriter: str, tmp_path: Path) -> None:
    """Time the default pipeline; these rewriters read the last turns alone."""
    pipeline = Pipeline.compose(f"rewriter={rewriter}", f"store.path={tmp_path}")
    times, sizes = [], []
    for number in range(TURNS):
        start = time.thread_time()
        record = pipeline.turn("c", f"Why does crater {number} have a dark floor?")
        times.append(time.thread_time() - start)
        sizes.append(len(json.dumps(record.to_dict())))
    early, late = statistics.median(sizes[EARLY]), statistics.median(sizes[LATE])
    print(f"a record: {early:,.0f} characters at turn 200, {late:,.0f} at turn {TURNS:,}")
    assert late < MOST * early
    assert report(f"rewriter={rewriter}", times) < MOST
