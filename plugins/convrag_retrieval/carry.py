"""`retriever=carry`: passages that earlier answers cited join the candidates of the turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from annotated_types import Ge

from convrag import Candidates, Hit, Passage, Query, Question, Retriever, Turn, use
from convrag.sdk.search.fusion import score_candidates
from convrag.sdk.text.citations import find_citations


class CitedPassage(NamedTuple):
    """A passage that an earlier answer cites.

    Args:
        passage: the passage.
        turn_id: the id of the latest turn that cites it.
        number: the number of this turn in its conversation, from 1.
    """

    passage: Passage
    turn_id: str
    number: int


@dataclass(kw_only=True, eq=False)
class CarryRetriever(Retriever):
    """Carry passages that earlier answers cite along: the reranker decides whether they stay.

    "Why?" and "the second one" find nothing new, and what they ask about was found a turn before.
    Any other retriever searches; to its passages come those that the last answers cite and that it
    did not find. They have to win by score. A reranker ranks them with all others, and its best
    stay. Without a reranker the scores of the retriever itself decide, for the same query: it then
    adds passages only where fewer were found than wanted, or where the search is not exact.

    The passages of an answer whose text is not known to cite anything (history=gold) are those that
    the data set says it is based on. With history=none nothing is carried.

    The trace names each carried passage, the turn that cited it and its score (`carried`).

    Args:
        base: does the searching; `retriever.base=bm25` chooses another.
        turns: earlier turns whose citations are carried.
        most: passages that are carried; those of the latest turn come first.
    """

    base: Retriever = use("hybrid")
    turns: Annotated[int, Ge(1)] = 3
    most: Annotated[int, Ge(1)] = 5

    def __post_init__(self) -> None:
        self.reads_conversation = True

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        """Return what the base finds: queries alone have no earlier turns."""
        return self.base.retrieve(queries, k)

    def retrieve_for(self, question: Question, queries: Sequence[Query], k: int) -> list[Hit]:
        return list(self.find_candidates(question, queries, k).hits)

    def find_candidates(self, question: Question, queries: Sequence[Query], k: int) -> Candidates:
        """Return the passages of the base, with those that are carried among the contenders."""
        found = self.base.find_candidates(question, queries, k)
        if k < 1 or not queries:
            return found
        known = {hit.passage.id for hit in (*found.hits, *found.contenders)}
        cited = find_cited(question, self.turns)
        carried = [each for each in cited if each.passage.id not in known][: self.most]
        ids = [each.passage.id for each in carried]
        scores = score_candidates(self.base, queries, found.hits, ids, k)
        hits = [Hit(each.passage, scores[each.passage.id]) for each in carried]
        merged = sorted([*found.hits, *hits], key=lambda hit: -hit.score)
        trace = dict(found.trace)
        if carried:
            trace["carried"] = [_describe(each, scores[each.passage.id]) for each in carried]
        return Candidates(merged[:k], [*found.contenders, *merged[k:]], trace)

    def explain(self, queries: Sequence[Query]) -> Mapping[str, Any]:
        """Return what the base says."""
        return self.base.explain(queries)


def find_cited(question: Question, turns: int) -> list[CitedPassage]:
    """Find the passages that the last turns cite, the latest turn first, each once.

    Args:
        question: of the turn, with its history.
        turns: how many of the last turns count.
    """
    history = question.whole_history
    first_number = question.number - len(history)
    shown: dict[int, Passage] = {}
    cited: dict[str, CitedPassage] = {}
    by_turn: list[list[CitedPassage]] = []
    for number, turn in enumerate(history, first_number):
        shown |= {item.number: item.passage for item in turn.shown}
        passages = _list_cited(turn, shown)
        by_turn.append([CitedPassage(passage, turn.id, number) for passage in passages])
    for each in reversed(by_turn[-turns:]):
        for one in each:
            if one.passage.content.strip():
                cited.setdefault(one.passage.id, one)
    return list(cited.values())


def _list_cited(turn: Turn, shown: Mapping[int, Passage]) -> list[Passage]:
    """List the passages that a turn's answer cites, in the order of their first mention.

    An answer of generator=chat may cite a number of an earlier turn.
    """
    if not turn.shown:
        return list(turn.passages)
    numbers = [number for mark in find_citations(turn.answer) for number in mark.numbers]
    return [shown[number] for number in numbers if number in shown]


def _describe(cited: CitedPassage, score: float) -> dict[str, Any]:
    return {
        "id": cited.passage.id,
        "name": cited.passage.name,
        "turn": cited.turn_id,
        "number": cited.number,
        "score": score,
    }
