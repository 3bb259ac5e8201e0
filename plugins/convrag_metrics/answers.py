"""`metrics=answers`: how close answers come to the data set's reference answers, word by word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, cast

from annotated_types import Ge

from convrag import Dataset, Metrics, TurnRecord
from convrag.sdk.text.analysis import count_words
from convrag.sdk.text.answers import (
    References,
    evidence_texts,
    lacks_part,
    prepare_answer,
    rests_on_few_nuggets,
)
from convrag_metrics.bleu import (
    CORPUS_BLEU,
    COUNTS,
    Tokenize,
    corpus_bleu,
    make_bleu,
    sentence_bleu,
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


@dataclass(kw_only=True, eq=False)
class AnswerMetrics(Metrics):
    """Compare answers with references by token F1, ROUGE-L and BLEU, and with the evidence.

    K-precision compares an answer with the evidence; the length in words is measured, too. Only
    turns with a reference answer are measured; of those, a failed turn or an empty answer scores 0.
    Definitions and sources are in docs/metrics.md. All are between 0 and 1, but BLEU, which is
    between 0 and 100 as in sacrebleu.

    Args:
        dataset: has the reference answers.
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
        """List ROUGE-L first: MTRAG and RAD-Bench report it of answers that have a reference."""
        measures = [
            "ROUGE-L",
            "token_precision",
            "token_recall",
            "token_F1",
            CORPUS_BLEU,
            "sentence_BLEU",
            "K-precision",
            "words",
        ]
        if self.max_words:
            measures.append("scored_words")
        if self.min_nuggets:
            measures.append("few_nuggets")
        return measures

    def explain_gap(self) -> str:
        """Say so where there are no reference answers at all."""
        return "" if self.references.has_answers() else "the data set has no reference answers"

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Measure each turn with a reference answer, with counts for the BLEU of all answers."""
        score_answer = self._make_scorer()
        measured = {}
        for record in records:
            reference = self.references.find_answer(record)
            if not reference or lacks_part(record, "answer"):
                continue
            values = {}
            has_few_nuggets = rests_on_few_nuggets(record, self.min_nuggets)
            if not has_few_nuggets:
                answer = prepare_answer(record, self.citations, self.max_words)
                values = score_answer(answer, reference)
                values |= self._measure_without_reference(record, answer)
            if self.min_nuggets:
                values["few_nuggets"] = float(has_few_nuggets)
            measured[record.turn_id] = values
        return measured

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        """Conclude the BLEU of all answers from the counts."""
        if COUNTS[0] not in means:
            return means
        others = {name: mean for name, mean in means.items() if name not in COUNTS}
        return {CORPUS_BLEU: corpus_bleu(means), **others}

    def _make_scorer(self) -> AnswerScorer:
        """Make a function that scores an answer against its reference."""
        tokenize = _make_rouge_tokenizer(stem=self.stem)
        bleu = make_bleu(self.bleu_tokenize)

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

    def _measure_without_reference(self, record: TurnRecord, answer: str) -> dict[str, float]:
        """Measure K-precision where there is evidence, and lengths in words."""
        values = {}
        texts = evidence_texts(record)
        if texts:
            known = [token for text in texts for token in tokenize_passage(text)]
            values["K-precision"] = measure_overlap(tokenize_squad(answer), known).precision
        values["words"] = float(count_words(prepare_answer(record, self.citations)))
        if self.max_words:
            values["scored_words"] = float(count_words(answer))
        return values


def _make_rouge_tokenizer(*, stem: bool) -> Callable[[str], list[str]]:
    """Make a function that splits a text into ROUGE's tokens.

    rouge-score has the stems. It imports NLTK, which takes a second that the default can spare.
    """
    if not stem:
        return tokenize_rouge
    from rouge_score.tokenizers import DefaultTokenizer

    return cast("Callable[[str], list[str]]", DefaultTokenizer(use_stemmer=True).tokenize)
