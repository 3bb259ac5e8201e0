"""`retriever=carry`: passages that earlier answers cite, which have to win by score."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import toys
from convrag import (
    Answer,
    EvidenceItem,
    Hit,
    Passage,
    Pipeline,
    Query,
    Question,
    Ranker,
    Retriever,
    Turn,
)
from convrag.config.settings import Settings
from convrag.testing import RetrieverContract, TinyDataset
from convrag_retrieval.bm25 import BM25Retriever
from convrag_retrieval.carry import CarryRetriever, find_cited
from toys import pipeline

PASSAGES = {name: Passage(name, f"text of {name}", title=name.upper()) for name in "abcdef"}


def show(*names: str, first: int = 1) -> tuple[EvidenceItem, ...]:
    return tuple(
        EvidenceItem(number, PASSAGES[name], PASSAGES[name].content)
        for number, name in enumerate(names, first)
    )


def ask(*history: Turn, number: int | None = None) -> Question:
    return Question(
        "why?", "c", "c<::>9", number=number or len(history) + 1, history=history, standalone="why?"
    )


class Fixed(Retriever):
    """Finds given passages with falling scores."""

    def __init__(self, names: str) -> None:
        self.names = names
        self.explained = {"read_as": {"wy": "why"}}

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        return [Hit(PASSAGES[name], 9.0 - n) for n, name in enumerate(self.names)][:k]

    def explain(self, queries: Sequence[Query]) -> Mapping[str, Any]:
        return self.explained


class Scoring(Fixed):
    """Scores any passage: the vowels high, the others low."""

    def scores(self, queries: Sequence[Query], ids: Sequence[str]) -> Mapping[str, float]:
        return {id_: 8.5 if id_ in "ae" else 0.5 for id_ in ids}


class TestContract(RetrieverContract):
    @pytest.fixture(autouse=True)
    def _with_store(self, convrag_store: Any) -> None:
        self.store = convrag_store

    def make(self) -> CarryRetriever:
        return CarryRetriever(base=BM25Retriever(dataset=TinyDataset(), store=self.store))


QUERIES = [Query("why?")]


def names(hits: Sequence[Hit]) -> str:
    return "".join(hit.passage.id for hit in hits)


def test_cited_passages_of_the_last_turns_the_latest_first() -> None:
    history = (
        Turn("c<::>1", "?", "No [1].", shown=show("a", "b")),
        Turn("c<::>2", "?", "Yes [2], maybe [1][2].", shown=show("b", "c")),
        Turn("c<::>3", "?", "Nothing is cited.", shown=show("d")),
    )
    found = find_cited(ask(*history), 3)
    assert [(each.passage.id, each.turn_id, each.number) for each in found] == [
        ("c", "c<::>2", 2),
        ("b", "c<::>2", 2),
        ("a", "c<::>1", 1),
    ]
    assert [each.passage.id for each in find_cited(ask(*history), 2)] == ["c", "b"]
    assert find_cited(ask(*history), 1) == []
    assert find_cited(ask(), 3) == []
    assert [each.number for each in find_cited(ask(*history, number=8), 3)] == [6, 6, 5]


def test_a_number_of_an_earlier_turn_and_the_passages_of_a_data_set() -> None:
    history = (
        Turn("c<::>1", "?", "No.", shown=show("a", "b")),
        Turn("c<::>2", "?", "Yes [2].", shown=show("c", first=3)),
        Turn("c<::>3", "?", "Published.", passages=(PASSAGES["d"], Passage("blank", " "))),
    )
    assert [each.passage.id for each in find_cited(ask(*history), 3)] == ["d", "b"]


def test_the_whole_history_counts_whatever_the_memory_shows() -> None:
    turn = Turn("c<::>1", "?", "No [1].", shown=show("a"))
    question = Question("why?", "c", "c<::>2", number=2, before_memory=(turn,))
    assert [each.passage.id for each in find_cited(question, 3)] == ["a"]


CITED = (
    Turn("c<::>1", "?", "[1]", shown=show("e")),
    Turn("c<::>2", "?", "[1][2][3]", shown=show("a", "b", "c")),
)


def test_carried_passages_are_contenders_where_all_places_are_taken() -> None:
    found = CarryRetriever(base=Fixed("abd")).find_candidates(ask(*CITED), QUERIES, 3)
    assert names(found.hits) == "abd"
    assert names(found.contenders) == "ce"
    assert found.trace == {
        "read_as": {"wy": "why"},
        "carried": [
            {"id": "c", "name": "C", "turn": "c<::>2", "number": 2, "score": 7.0},
            {"id": "e", "name": "E", "turn": "c<::>1", "number": 1, "score": 7.0},
        ],
    }


def test_they_take_places_that_are_free() -> None:
    found = CarryRetriever(base=Fixed("d")).find_candidates(ask(*CITED), QUERIES, 3)
    assert names(found.hits) == "dab"
    assert [hit.score for hit in found.hits] == [9.0, 0.0, 0.0]
    assert names(found.contenders) == "ce"
    nothing = CarryRetriever(base=Fixed("")).retrieve_for(ask(*CITED), QUERIES, 9)
    assert names(nothing) == "abce"


def test_the_scores_of_the_retriever_itself_decide_where_it_scores_any_passage() -> None:
    found = CarryRetriever(base=Scoring("dbf")).find_candidates(ask(*CITED), QUERIES, 3)
    assert [(hit.passage.id, hit.score) for hit in found.hits] == [
        ("d", 9.0),
        ("a", 8.5),
        ("e", 8.5),
    ]
    assert names(found.contenders) == "bfc"


def test_the_number_of_turns_and_passages_is_limited() -> None:
    few = CarryRetriever(base=Fixed("d"), most=2).find_candidates(ask(*CITED), QUERIES, 9)
    assert names(few.hits) == "dab"
    last = CarryRetriever(base=Fixed("d"), turns=1).find_candidates(ask(*CITED), QUERIES, 9)
    assert names(last.hits) == "dabc"


@pytest.mark.parametrize(("queries", "k"), [([], 3), (QUERIES, 0)])
def test_without_queries_or_places_nothing_is_carried(queries: list[Query], k: int) -> None:
    found = CarryRetriever(base=Fixed("")).find_candidates(ask(*CITED), queries, k)
    assert not found.hits
    assert not found.contenders


class Alphabet(Ranker):
    """Puts the first letters first."""

    def score(self, query: str, texts: Sequence[str]) -> Any:
        return np.array([-float(ord(text[0])) for text in texts])


class Citing(toys.QuotingGenerator):
    """Cites the first passage that it is shown."""

    def generate(self, question: Any, evidence: Any) -> Any:
        return Answer("It is so [1].", (evidence.items[0].passage.id,))


class ByTurn(Retriever):
    """Finds other passages in each turn."""

    def __init__(self) -> None:
        self.turns: Iterator[str] = iter(("abc", "def", "fde"))

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        return [Hit(PASSAGES[name], 9.0 - n) for n, name in enumerate(next(self.turns))][:k]


def test_a_reranker_lets_a_carried_passage_win() -> None:
    chat = pipeline(
        retriever=CarryRetriever(base=ByTurn()), reranker=Alphabet(), generator=Citing(),
        settings=Settings(top_k=3),
    )  # fmt: skip
    assert names(chat.turn("c", "what?").hits) == "abc"
    second = chat.turn("c", "why?")
    assert names(second.hits) == "ade"
    assert [each["id"] for each in second.trace["retriever"]["carried"]] == ["a"]


def test_without_a_reranker_the_ranking_is_the_bases() -> None:
    chat = pipeline(
        retriever=CarryRetriever(base=ByTurn()), reranker=toys.EvenRanker(), generator=Citing(),
        settings=Settings(top_k=3),
    )  # fmt: skip
    chat.turn("c", "what?")
    assert names(chat.turn("c", "why?").hits) == "def"


def test_it_wraps_any_retriever_and_nothing_is_carried_without_a_history(tmp_path: Any) -> None:
    own = ["dataset=sample", "retriever=carry", "retriever.base=bm25", "tracker=none",
           f"store.path={tmp_path}", "generator=direct", "llm=extractive"]  # fmt: skip
    chat = Pipeline.compose(*own)
    first = chat.turn("c", "Who designed the Eiffel Tower?")
    assert "retriever" not in first.trace or "carried" not in first.trace["retriever"]
    hidden = Pipeline.compose(*own, "history=none")
    hidden.turn("c", "Who designed the Eiffel Tower?")
    assert "carried" not in hidden.turn("c", "why?").trace.get("retriever", {})
