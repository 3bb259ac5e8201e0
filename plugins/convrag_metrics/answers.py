"""`metrics=answers`: how close answers come to the data set's reference answers, word by word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from convrag import ConfigError, Dataset, Metrics, TurnRecord
from convrag_metrics.overlap import bags, in_order
from convrag_metrics.references import References
from convrag_metrics.texts import evidence_texts, lacks, normalised, normalised_passage, scored_text

if TYPE_CHECKING:
    from collections.abc import Callable

    Scorer = Callable[[str, str], dict[str, float]]


class AnswerMetrics(Metrics):
    """Compare answers with reference answers: token F1, ROUGE-L, BLEU; with the evidence: K-precision; and length.

    Only turns with a reference answer are measured; of those, a failed turn or an empty answer scores 0. Definitions
    and sources are in docs/metrics.md. All are between 0 and 1, but BLEU, which is between 0 and 100 as in sacrebleu.

    Args:
        dataset: whose answers are the references.
        max_words: cut every answer to so many words before it is scored, so that systems compare at one length; None
            scores whole answers.
        stem: compare stems in ROUGE-L, as rouge-score's use_stemmer does; MTRAG does not.
        bleu_tokenize: how sacrebleu takes texts apart: 13a (mteval's, sacrebleu's default), intl, zh, char or none.
        citations: remove takes marks like [1] out of answers before anything is compared; keep leaves them in.
        min_nuggets: leaves out turns whose answer rests on fewer nuggets (generator=ginger; its paper leaves out those
            with fewer than 2). few_nuggets is the share of turns that were left out.

    Raises:
        ConfigError: max_words is below 1, min_nuggets below 0.
    """

    def __init__(
        self,
        *,
        dataset: Dataset,
        max_words: int | None = None,
        stem: bool = False,
        bleu_tokenize: Literal["13a", "intl", "zh", "char", "none"] = "13a",
        citations: Literal["remove", "keep"] = "remove",
        min_nuggets: int = 0,
    ) -> None:
        if min_nuggets < 0:
            raise ConfigError(f"metrics.answers.min_nuggets={min_nuggets}: it must be at least 0")
        if max_words is not None and max_words < 1:
            raise ConfigError(f"metrics.answers.max_words={max_words}: it must be at least 1")
        self.dataset = dataset
        self.references = References(dataset)
        self.max_words = max_words
        self.stem = stem
        self.bleu_tokenize: Literal["13a", "intl", "zh", "char", "none"] = bleu_tokenize
        self.citations: Literal["remove", "keep"] = citations
        self.min_nuggets = min_nuggets

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Scores of each turn that has a reference answer, and the counts behind the BLEU of all answers."""
        compare = self._comparison()
        measured = {}
        for record in records:
            if (reference := self.references.answer(record)) and not lacks(record, "answer"):
                few = self._rests_on_few(record)
                answer = scored_text(record, self.citations, self.max_words)
                scores = {} if few else compare(answer, reference) | self._beside(record, answer)
                measured[record.turn_id] = scores | ({"few_nuggets": float(few)} if self.min_nuggets else {})
        return measured

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        """BLEU of all answers in place of the counts that it is made of."""
        from convrag_metrics.bleu import CORPUS, COUNTS, corpus_bleu

        if COUNTS[0] not in means:
            return means
        return {CORPUS: corpus_bleu(means)} | {name: mean for name, mean in means.items() if name not in COUNTS}

    def _rests_on_few(self, record: TurnRecord) -> bool:
        nuggets = record.trace.get("generator", {}).get("nuggets")
        return nuggets is not None and len(nuggets) < self.min_nuggets

    def _comparison(self) -> Scorer:
        from rouge_score.tokenizers import DefaultTokenizer

        from convrag_metrics.bleu import scorer, sentence_bleu

        tokenizer, bleu = DefaultTokenizer(self.stem), scorer(self.bleu_tokenize)

        def compare(answer: str, reference: str) -> dict[str, float]:
            tokens = bags(normalised(answer), normalised(reference))
            return {
                "token_precision": tokens.precision,
                "token_recall": tokens.recall,
                "token_F1": tokens.f1,
                "ROUGE-L": in_order(tokenizer.tokenize(answer), tokenizer.tokenize(reference)).f1,
                **sentence_bleu(bleu, answer, reference),
            }

        return compare

    def _beside(self, record: TurnRecord, answer: str) -> dict[str, float]:
        """What needs no reference: K-precision where there is evidence, and lengths in words."""
        values = {}
        if texts := evidence_texts(record):
            known = [token for text in texts for token in normalised_passage(text)]
            values["K-precision"] = bags(normalised(answer), known).precision
        values["words"] = float(len(scored_text(record, self.citations).split()))
        return values | ({"scored_words": float(len(answer.split()))} if self.max_words else {})
