"""The seconds until the passages of a follow-up are there, with and without `rewriter.speculate`.

The model takes a second, as a call that condenses does, and the search half a second: both are the
figures of the Perplexity-style description. Run `pytest benchmarks/speed/test_speculation.py -n 0
-s`.
"""

import statistics
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest

from convrag import LLM, Completion, Hit, Passage, Pipeline, Prompt, Query, Retriever
from convrag.store.remember import remember
from convrag.store.store import Store
from convrag_basics.contexts import FullContext
from convrag_basics.direct import DirectGenerator
from convrag_basics.none import NoRanker
from convrag_condense.rewriter import CondenseRewriter

MODEL_SECONDS = 1.0
SEARCH_SECONDS = 0.5
ROUNDS = 5
_numbers = count()


class SlowLLM(LLM):
    """Takes a second to leave a question as it is, or to write out what it refers to."""

    def __init__(self, *, rewrites: bool) -> None:
        self.rewrites = rewrites

    def complete(self, prompt: Prompt) -> Completion:
        time.sleep(MODEL_SECONDS)
        question = str(prompt.inputs["question"])
        return Completion(
            f"{question} (of heat pumps)" if self.rewrites else question, model="slow"
        )

    def count_tokens(self, text: str) -> int:
        return len(text.split())


class SlowRetriever(Retriever):
    """Takes half a second to find a passage, and counts its searches."""

    searches = 0

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        self.searches += 1
        time.sleep(SEARCH_SECONDS)
        return [Hit(Passage("p", f"A passage for {queries[0].text}."), 1.0)]


def measure(folder: Path, *, rewrites: bool, speculate: bool) -> tuple[float, float]:
    """Return the median seconds of a follow-up until its evidence is there, and its searches."""
    retriever = SlowRetriever()
    retriever.fingerprint = "slow"
    remember(retriever, Store(folder / f"store{next(_numbers)}"))
    llm = SlowLLM(rewrites=rewrites)
    chat = Pipeline(
        rewriter=CondenseRewriter(
            llm=llm, retriever=retriever, gate="always", guard=0, speculate=speculate
        ),
        retriever=retriever,
        reranker=NoRanker(),
        context=FullContext(),
        generator=DirectGenerator(llm=llm),
    )
    chat.turn("c", "How do heat pumps work?", generate=False)
    before = retriever.searches
    took = []
    for number in range(ROUNDS):
        start = time.perf_counter()
        record = chat.turn("c", f"How long does installation number {number} last?", generate=False)
        took.append(time.perf_counter() - start)
        assert len(record.hits) == 1
        assert not record.fallbacks
    time.sleep(SEARCH_SECONDS)  # a search ahead that was for nothing ends
    return statistics.median(took), (retriever.searches - before) / ROUNDS


@pytest.mark.parametrize(
    ("rewrites", "most", "searches"),
    [(False, 0.75, 1), (True, 1.05, 2)],
    ids=["stands_alone", "depends_on_the_history"],
)
def test_the_time_until_passages_are_there(
    rewrites: bool, most: float, searches: int, tmp_path: Path
) -> None:
    plain, once = measure(tmp_path, rewrites=rewrites, speculate=False)
    ahead, made = measure(tmp_path, rewrites=rewrites, speculate=True)
    kind = "is rewritten" if rewrites else "stands alone"
    print(
        f"a question that {kind}: {plain:.2f} s, with speculate {ahead:.2f} s: "
        f"{ahead / plain:.2f} times; {once:.0f} and {made:.0f} searches"
    )
    assert ahead / plain < most
    assert (once, made) == (1, searches)
