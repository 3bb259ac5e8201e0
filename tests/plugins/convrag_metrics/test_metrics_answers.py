from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest
from hypothesis import given, strategies as st

from convrag import (
    Answer,
    Conversation,
    Dataset,
    Embedder,
    Evidence,
    EvidenceItem,
    Metrics,
    Passage,
    Query,
    Turn,
)
from convrag.api.records import TurnRecord
from convrag.score.measuring import check_measures_differ
from convrag.score.scoring import Scores
from convrag.sdk.text.answers import truncate_words
from convrag.sdk.text.citations import strip_citations
from convrag.testing import MetricsContract
from convrag_metrics.answerability import AnswerabilityMetrics
from convrag_metrics.answers import AnswerMetrics
from convrag_metrics.grounding import GroundingMetrics
from convrag_metrics.rewrites import RewriteMetrics
from convrag_metrics.token_overlap import (
    measure_overlap,
    measure_rouge_l,
    measure_subsequence,
    tokenize_squad,
)


class Answered(Dataset):
    """One conversation with these reference answers."""

    def __init__(self, *answers: str) -> None:
        turns = tuple(
            Turn(f"c<::>{number}", "?", answer) for number, answer in enumerate(answers, 1)
        )
        self.talk = Conversation("c", turns)

    def conversations(self) -> Iterator[Conversation]:
        yield self.talk


def record(answer: str, number: int = 1, *passages: str, **fields: Any) -> TurnRecord:
    items = tuple(
        EvidenceItem(n, Passage(f"p{n}", text), text) for n, text in enumerate(passages, 1)
    )
    return TurnRecord(
        "c",
        f"c<::>{number}",
        "default",
        number,
        "?",
        answer=Answer(answer),
        evidence=Evidence(items),
        **fields,
    )


def measured(answer: str, reference: str, *passages: str, **parameters: Any) -> Mapping[str, float]:
    metrics = AnswerMetrics(dataset=Answered(reference), **parameters)
    return metrics.measure([record(answer, 1, *passages)])["c<::>1"]


class TestContract(MetricsContract):
    def make(self) -> AnswerMetrics:
        turns = (Turn("tea<::>1", "?", "Steam escapes."), Turn("tea<::>2", "?", "It is cooler."))
        dataset = Answered()
        dataset.talk = Conversation("tea", turns)
        return AnswerMetrics(dataset=dataset)


def test_token_scores_are_those_of_squad() -> None:
    values = measured("The cat, a cat and THE dog!", "Cat and an old dog.")
    assert tokenize_squad("The cat, a cat and THE dog!") == ["cat", "cat", "and", "dog"]
    assert tokenize_squad("Cat and an old dog.") == ["cat", "and", "old", "dog"]
    assert [values[f"token_{name}"] for name in ("precision", "recall", "F1")] == [0.75, 0.75, 0.75]


def test_squad_tokenizes_in_this_order() -> None:
    tokens = tokenize_squad("It's a U.S. state-of-the-art “the” thing")
    assert tokens == ["its", "us", "stateoftheart", "“", "”", "thing"]
    assert tokenize_squad("the an a A") == []


def test_an_empty_answer_scores_nothing_and_one_without_reference_is_not_measured() -> None:
    values = measured("", "Something.")
    assert {name: value for name, value in values.items() if not name.startswith("BLEU_")} == {
        "token_precision": 0.0,
        "token_recall": 0.0,
        "token_F1": 0.0,
        "ROUGE-L": 0.0,
        "sentence_BLEU": 0.0,
        "words": 0.0,
    }
    assert AnswerMetrics(dataset=Answered("")).measure([record("An answer.")]) == {}
    failed = record("", error="the model is down")
    assert AnswerMetrics(dataset=Answered("So.")).measure([failed])["c<::>1"]["token_F1"] == 0.0
    assert (
        measured("The.", "A!")["token_F1"] == 1.0
    )  # two empty lists of tokens are alike, as in SQuAD


def test_k_precision_is_the_share_of_tokens_that_all_passages_together_have() -> None:
    assert measured("red green blue grey", "x", "Red, green.", "The blue")["K-precision"] == 0.75
    assert measured("red red", "x", "red")["K-precision"] == 0.5
    assert "K-precision" not in measured("red", "x")


def test_citations_are_stripped_and_lengths_are_words() -> None:
    values = measured("Steam escapes [1] fast [2, 3].[1]", "Steam escapes fast.", "Steam")
    assert values["token_F1"] == values["ROUGE-L"] == 1.0
    assert values["words"] == 3.0
    assert measured("Steam [1].", "Steam 1.", citations="keep")["token_F1"] == 1.0
    assert measured("Steam [1].", "Steam 1.")["token_F1"] < 1.0
    assert (
        strip_citations("Use `a[0]` and\n```\nb[1]\n```\nhere [12].")
        == "Use `a[0]` and\n```\nb[1]\n```\nhere."
    )
    assert strip_citations("see [Figure 1] and [1999]") == "see [Figure 1] and [1999]"


def test_answers_are_truncated_after_citations_are_stripped() -> None:
    values = measured("One [1] two  three four", "one two", max_words=2)
    assert (values["token_F1"], values["words"], values["scored_words"]) == (1.0, 4.0, 2.0)
    assert truncate_words("a\n b  c", 2) == "a\n b"
    assert truncate_words(" \n", 3) == ""
    assert measured("one", "one", max_words=5)["scored_words"] == 1.0


TEXTS = st.text(alphabet="abAB .,1é-\n", max_size=60)


@given(answer=TEXTS, reference=TEXTS, stem=st.booleans())
def test_rouge_l_is_that_of_rouge_score(answer: str, reference: str, stem: bool) -> None:
    from rouge_score.rouge_scorer import RougeScorer
    from rouge_score.tokenizers import DefaultTokenizer

    tokenize = DefaultTokenizer(stem).tokenize
    expected = RougeScorer(["rougeL"], use_stemmer=stem).score(reference, answer)["rougeL"]
    found = measure_subsequence(tokenize(answer), tokenize(reference))
    assert tuple(found) == pytest.approx((expected.precision, expected.recall, expected.fmeasure))
    if not stem:
        assert measure_rouge_l(answer, reference) == pytest.approx(expected.fmeasure)


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_overlaps_are_bounded_and_symmetric(first: list[str], second: list[str]) -> None:
    for compare in (measure_overlap, measure_subsequence):
        there, back = compare(first, second), compare(second, first)
        assert (there.precision, there.recall, there.f1) == (
            back.recall,
            back.precision,
            pytest.approx(back.f1),
        )
        assert all(0 <= value <= 1 for value in there)
    assert measure_subsequence(first, second).f1 <= measure_overlap(first, second).f1 + 1e-12


def test_bleu_is_that_of_sacrebleu_for_sentences_and_for_the_corpus() -> None:
    from sacrebleu.metrics import BLEU

    answers = [
        "The cat sat on the mat today.",
        "Dogs bark at night, and cats do not.",
        "",
        "Nothing alike here",
    ]
    references = [
        "The cat sat on the mat.",
        "At night dogs bark, and cats do not bark.",
        "Silence.",
        "Wholly other",
    ]
    metrics = AnswerMetrics(dataset=Answered(*references))
    records = [record(answer, number) for number, answer in enumerate(answers, 1)]
    values = metrics.measure(records)
    for number, (answer, reference) in enumerate(zip(answers, references, strict=True), 1):
        expected = BLEU(effective_order=True).sentence_score(answer, [reference]).score
        assert values[f"c<::>{number}"]["sentence_BLEU"] == pytest.approx(expected)
    overall = Scores(records, {"m": metrics}, {"m": values}).score_all().scores
    assert overall["BLEU"] == pytest.approx(BLEU().corpus_score(answers, [references]).score)
    assert not any(name.startswith("BLEU_") for name in overall)
    first = (
        Scores(records[3:], {"m": metrics}, {"m": {"c<::>4": values["c<::>4"]}}).score_all().scores
    )
    assert first["BLEU"] == 0.0


def test_measures_of_different_metrics_have_different_names() -> None:
    given = record(
        "Red [1].", 1, "Red.", labels={"answerability": "ANSWERABLE"}, queries=(Query("?"),)
    )
    dataset = Answered("Red.")
    together: dict[str, Metrics] = {
        "answers": AnswerMetrics(dataset=dataset, max_words=5),
        "answerability": AnswerabilityMetrics(dataset=dataset),
        "grounding": GroundingMetrics(),
        "rewrites": RewriteMetrics(embedder=cast(Embedder, None)),
    }
    check_measures_differ(together)
    names = [
        name for metric in together.values() for name in metric.measure([given]).get("c<::>1", {})
    ]
    measured = {name: metric.measure([given]) for name, metric in together.items()}
    shown = Scores([given], together, measured).score_all().scores
    assert len(names) == len(set(names)) > 20
    assert {"ROUGE-L", "ROUGE-L_idk", "cited_sentences", "BLEU"} <= shown.keys()


def test_turns_with_few_nuggets_are_left_out_and_their_share_is_reported() -> None:
    trace = {"generator": {"nuggets": [{"text": "tea"}]}}
    records = [
        record("Green tea.", 1, trace=trace),
        record("Green tea.", 2),
        record("Tea.", 3, trace=trace),
    ]
    metric = AnswerMetrics(dataset=Answered("Green tea.", "Green tea.", "Coffee."), min_nuggets=2)
    values = metric.measure(records)
    assert values["c<::>1"] == values["c<::>3"] == {"few_nuggets": 1.0}
    assert (values["c<::>2"]["token_F1"], values["c<::>2"]["few_nuggets"]) == (1.0, 0.0)
