"""`metrics=answers`: how close answers come to the data set's reference answers, word by word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import exp, log
from typing import TYPE_CHECKING, Annotated, Literal, cast

from annotated_types import Ge

from convrag import Dataset, Metrics, TurnRecord
from convrag.sdk.text.answers import (
    References,
    evidence_texts,
    lacks_part,
    prepare_answer,
    rests_on_few_nuggets,
)
from convrag_metrics.token_overlap import (
    measure_overlap,
    measure_subsequence,
    tokenize_passage,
    tokenize_rouge,
    tokenize_squad,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    AnswerScorer = Callable[[str, str], dict[str, float]]
    from sacrebleu.metrics import BLEU


@dataclass(kw_only=True, eq=False)
class AnswerMetrics(Metrics):
    """Compare answers with reference answers: token F1, ROUGE-L, BLEU; with the evidence: K-precision; and length.

    Only turns with a reference answer are measured; of those, a failed turn or an empty answer
    scores 0. Definitions and sources are in docs/metrics.md. All are between 0 and 1, but BLEU,
    which is between 0 and 100 as in sacrebleu.

    Args:
        dataset: whose answers are the references.
        max_words: truncates every answer to so many words before it is scored, so that systems
            compare at one length; None scores whole answers.
        stem: compare stems in ROUGE-L, as rouge-score's use_stemmer does; MTRAG does not.
        bleu_tokenize: how sacrebleu tokenizes texts: 13a (mteval's, sacrebleu's default), intl, zh,
            char or none.
        citations: remove takes marks like [1] out of answers before anything is compared; keep
            leaves them in.
        min_nuggets: leaves out turns whose answer rests on fewer nuggets (generator=ginger; its
            paper leaves out those with fewer than 2). few_nuggets is the share of turns that were
            left out.
    """

    libraries = ("rapidfuzz", "rouge-score", "sacrebleu")
    reads = ("answer",)

    dataset: Dataset
    max_words: Annotated[int | None, Ge(1)] = None
    stem: bool = False
    bleu_tokenize: Tokenize = "13a"
    citations: Literal["remove", "keep"] = "remove"
    min_nuggets: Annotated[int, Ge(0)] = 0

    def __post_init__(self) -> None:
        self.references = References(self.dataset)

    def list_measures(self) -> list[str]:
        """ROUGE-L stands for them: MTRAG and RAD-Bench report it of answers that have a reference."""
        measures = [
            "ROUGE-L",
            "token_precision",
            "token_recall",
            "token_F1",
            CORPUS_BLEU,
            "sentence_BLEU",
        ]
        measures += ["K-precision", "words", *(["scored_words"] if self.max_words else [])]
        return measures + (["few_nuggets"] if self.min_nuggets else [])

    def explain_gap(self) -> str:
        """Whether there are reference answers at all."""
        return "" if self.references.has_answers() else "the data set has no reference answers"

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Scores of each turn that has a reference answer, and the counts behind the BLEU of all
        answers.
        """
        score_answer = self._make_scorer()
        measured = {}
        for record in records:
            if (reference := self.references.find_answer(record)) and not lacks_part(
                record, "answer"
            ):
                few = rests_on_few_nuggets(record, self.min_nuggets)
                answer = prepare_answer(record, self.citations, self.max_words)
                scores = (
                    {}
                    if few
                    else score_answer(answer, reference) | self._measure_alone(record, answer)
                )
                measured[record.turn_id] = scores | (
                    {"few_nuggets": float(few)} if self.min_nuggets else {}
                )
        return measured

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        """BLEU of all answers in place of the counts that it is computed from."""
        if COUNTS[0] not in means:
            return means
        return {CORPUS_BLEU: corpus_bleu(means)} | {
            name: mean for name, mean in means.items() if name not in COUNTS
        }

    def _make_scorer(self) -> AnswerScorer:
        tokenize, bleu = _make_rouge_tokenizer(stem=self.stem), make_bleu(self.bleu_tokenize)

        def score_answer(answer: str, reference: str) -> dict[str, float]:
            overlap = measure_overlap(tokenize_squad(answer), tokenize_squad(reference))
            return {
                "token_precision": overlap.precision,
                "token_recall": overlap.recall,
                "token_F1": overlap.f1,
                "ROUGE-L": measure_subsequence(tokenize(answer), tokenize(reference)).f1,
                **sentence_bleu(bleu, answer, reference),
            }

        return score_answer

    def _measure_alone(self, record: TurnRecord, answer: str) -> dict[str, float]:
        """Measures without a reference: K-precision where there is evidence, and lengths in words."""
        values = {}
        if texts := evidence_texts(record):
            known = [token for text in texts for token in tokenize_passage(text)]
            values["K-precision"] = measure_overlap(tokenize_squad(answer), known).precision
        values["words"] = float(len(prepare_answer(record, self.citations).split()))
        return values | ({"scored_words": float(len(answer.split()))} if self.max_words else {})


def _make_rouge_tokenizer(*, stem: bool) -> Callable[[str], list[str]]:
    """ROUGE's tokens. rouge-score has the stems; it imports NLTK, which takes a second that the
    default can spare.
    """
    if not stem:
        return tokenize_rouge
    from rouge_score.tokenizers import DefaultTokenizer

    return cast("Callable[[str], list[str]]", DefaultTokenizer(use_stemmer=True).tokenize)


Tokenize = Literal["13a", "intl", "zh", "char", "none"]

ORDERS = (1, 2, 3, 4)
CORPUS_BLEU = "BLEU"
MATCHED = tuple(f"BLEU_matched_{order}" for order in ORDERS)
TOTAL = tuple(f"BLEU_total_{order}" for order in ORDERS)
LENGTHS = ("BLEU_answer_length", "BLEU_reference_length")
COUNTS = (*MATCHED, *TOTAL, *LENGTHS)


def sentence_bleu(bleu: BLEU, answer: str, reference: str) -> dict[str, float]:
    """The BLEU of one answer (0 to 100), and the counts that the BLEU of all answers is computed
    from.
    """
    score = bleu.sentence_score(answer, [reference])
    counts = (*score.counts, *score.totals, score.sys_len, score.ref_len)
    return {
        "sentence_BLEU": float(score.score),
        **dict(zip(COUNTS, map(float, counts), strict=True)),
    }


def make_bleu(tokenize: Tokenize) -> BLEU:
    """The BLEU of `sacrebleu --sentence-level`: exponential smoothing, effective order."""
    from sacrebleu.metrics import BLEU

    return BLEU(tokenize=tokenize, effective_order=True)


def corpus_bleu(means: Mapping[str, float]) -> float:
    """BLEU-4 of all answers together (0 to 100), not smoothed: 0 where no four words of any answer
    match.

    Means give the same score as sums, since only ratios of counts matter. (sacrebleu takes only
    sums.)
    """
    matched, total = ([means[name] for name in names] for names in (MATCHED, TOTAL))
    answer, reference = (means[name] for name in LENGTHS)
    if not all(matched):
        return 0.0
    precision = sum(log(part / whole) for part, whole in zip(matched, total, strict=True)) / len(
        ORDERS
    )
    brevity = min(0.0, 1 - reference / answer)
    return 100 * exp(precision + brevity)
