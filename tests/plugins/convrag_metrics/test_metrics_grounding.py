from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from convrag import Answer, Evidence, EvidenceItem, Passage, TurnRecord
from convrag.score.scoring import Scores
from convrag.testing import MetricsContract
from convrag_metrics.grounding import (
    CitedSentence,
    GroundingMetrics,
    has_lexical_support,
    split_cited_sentences,
)

PASSAGES = ("The Moon is 384,400 kilometres away.", "Laika flew in Sputnik 2 in 1957.")


def record(answer: str, passages: Sequence[str] = PASSAGES, **fields: Any) -> TurnRecord:
    items = tuple(
        EvidenceItem(n, Passage(f"p{n}", text), text) for n, text in enumerate(passages, 1)
    )
    return TurnRecord(
        "c", "t", "d", 1, "?", answer=Answer(answer), evidence=Evidence(items), **fields
    )


def overall(*records: TurnRecord, **parameters: Any) -> Mapping[str, float]:
    metrics = GroundingMetrics(**parameters)
    return Scores(records, {"m": metrics}, {"m": metrics.measure(records)}).score_all().scores


class TestContract(MetricsContract):
    def records(self) -> list[TurnRecord]:
        first, second = super().records()
        return [
            first,
            TurnRecord("tea", "tea<::>3", "default", 3, "?", answer=Answer("Steam escapes [1].")),
            second,
        ]

    def make(self) -> GroundingMetrics:
        return GroundingMetrics()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("One. Two [1].", [("One.", ()), ("Two.", (1,))]),
        (
            "One thing. [1] Another thing [2, 3]. [4]",
            [("One thing.", (1,)), ("Another thing.", (2, 3, 4))],
        ),
        ("One thing.[1][2] Another thing.", [("One thing.", (1, 2)), ("Another thing.", ())]),
        ("- An item [1]\n- Another item", [("- An item", (1,)), ("- Another item", ())]),
        ("1. Open it [1].\n2. Close it.", [("1. Open it.", (1,)), ("2. Close it.", ())]),
        ("Use `a[0]` here [2].", [("Use `a[0]` here.", (2,))]),
        (
            "The U.S. sent Dr. No there in 1957 [2].",
            [("The U.S. sent Dr. No there in 1957.", (2,))],
        ),
        ("[1]", []),
        (" \n ", []),
    ],
)
def test_sentences_and_what_they_cite(
    answer: str, expected: list[tuple[str, tuple[int, ...]]]
) -> None:
    assert split_cited_sentences(answer) == [CitedSentence(*each) for each in expected]


def test_shares_by_hand() -> None:
    answer = "The Moon is 384,400 kilometres away [1]. Laika flew in 1957 [2][9]. So what? Laika flew off in 1999 [2]."
    assert overall(record(answer)) == {
        "grounded_sentences": 2 / 4,
        "cited_sentences": 3 / 4,
        "existing_citations": 3 / 4,
        "supported_sentences": 2 / 3,
    }


def test_turns_that_need_no_citation_are_left_out() -> None:
    assert overall(record("I do not know.")) == {}
    assert overall(record("")) == {}
    assert overall(record("It is far.")) == {"cited_sentences": 0.0, "grounded_sentences": 0.0}
    expected = {"cited_sentences": 1.0, "existing_citations": 0.0, "grounded_sentences": 0.0}
    assert overall(record("It is far [3].")) == expected
    unknown = {"evaluate": {"given": ["answer"]}}
    assert overall(record("It is far [3].", trace=unknown)) == {}


@pytest.mark.parametrize(
    ("sentence", "threshold", "expected"),
    [
        ("Laika flew in 1957.", 1.0, True),
        ("Laika was flying.", 1.0, False),
        ("Laika was flying.", 0.5, True),
        ("Laika flew in 1958.", 0.1, False),
        ("Bees make honey.", 0.1, False),
        ("Bees make honey.", 0.0, True),
        ("It was so.", 1.0, True),
    ],
)
def test_lexical_support(sentence: str, threshold: float, expected: bool) -> None:
    assert has_lexical_support(sentence, [PASSAGES[1]], threshold) is expected


def test_shares_are_of_all_sentences_together() -> None:
    first = record("Laika flew [2]. So. So it was. So it is.")
    second = TurnRecord(
        "c", "u", "d", 2, "?", answer=Answer("The Moon is far away [1]."), evidence=first.evidence
    )
    assert overall(first, second)["cited_sentences"] == 2 / 5


def test_lexical_support_may_come_from_several_passages() -> None:
    sentence = "Laika never saw the Moon 384,400 kilometres away."
    assert has_lexical_support(sentence, PASSAGES, 0.7)
    assert not has_lexical_support(sentence, PASSAGES[1:], 0.7)


def test_numbers_of_the_whole_conversation_name_passages_of_earlier_turns() -> None:
    """A chat numbers passages once for all its turns, and may cite an earlier turn's."""
    first = record("The Moon is 384,400 kilometres away [1].")
    mice = Passage("mice", "Mice flew as well.")
    second = TurnRecord(
        "c",
        "t2",
        "d",
        2,
        "?",
        answer=Answer("Laika flew in 1957 [2]. Mice flew as well [3]. Cats did [7]."),
        evidence=Evidence((EvidenceItem(1, mice, mice.text),)),
        trace={"generator": {"numbers": {"mice": 3, "p2": 2}}},
    )
    scores = GroundingMetrics().measure([first, second])
    assert scores["t2"]["grounded_sentences"] == pytest.approx(2 / 3)
    found = overall(first, second)
    assert found["existing_citations"] == pytest.approx(3 / 4)
    assert found["supported_sentences"] == 1
