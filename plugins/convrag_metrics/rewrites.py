"""`metrics=rewrites`: what the rewriter did to the questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from convrag import DataError, Embedder, Metrics, TurnRecord
from convrag.store.fingerprint import file_hash
from convrag_metrics.beir import read_texts
from convrag_metrics.overlap import bags
from convrag_metrics.rb_agg import rouge_l
from convrag_metrics.texts import normalised

_BEGINS = "chain_begins"


class RewriteMetrics(Metrics):
    """How rewrites compare with reference rewrites, how often questions are changed, and what gates and chains did.

    For the turns of a file of reference rewrites: rewrite_token_F1, rewrite_ROUGE-L and rewrite_cosine (of embeddings).
    For follow-up turns: rewrite_changed. For rewriters with a gate (condense): gate_calls, the share of turns that it
    let be rewritten. For dhrag: the mean length of its chains, and the earlier turns that were there and selected.
    rewriter_asked_llm is the share of turns in which the rewriter asked a language model. Definitions are in
    docs/metrics.md.

    Args:
        embedder: compares rewrites by meaning; asked only where there are reference rewrites.
        reference: reference rewrites in BEIR format ({"_id": turn, "text": rewrite}; MTRAG's prefix is taken off), or
            a folder of *.jsonl files with them.
    """

    def __init__(self, *, embedder: Embedder, reference: Path | None = None) -> None:
        self.embedder = embedder
        self.reference = reference

    def check(self) -> Iterable[str]:
        """Whether the reference rewrites can be read."""
        try:
            self._references()
        except DataError as error:
            yield str(error)

    def content_hash(self) -> str:
        """The reference rewrites, wherever they lie."""
        if self.reference is None or not self.reference.exists():
            return ""
        files = sorted(self.reference.glob("*.jsonl")) if self.reference.is_dir() else [self.reference]
        return "+".join(file_hash(path) for path in files)

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Values of every turn that the rewriter had to do with; the first of a conversation has fewest."""
        references = self._references()
        measured: dict[str, dict[str, float]] = {}
        pairs: dict[str, tuple[str, str]] = {}
        for record in records:
            measured[record.turn_id] = _changed(record) | _traced(record.trace.get("rewriter", {}))
            if reference := references.get(record.turn_id):
                pairs[record.turn_id] = record.rewritten_query, reference
        for turn_id, scores in self._similar(pairs).items():
            measured[turn_id] |= scores
        return {turn_id: values for turn_id, values in measured.items() if values}

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        """The mean length of chains in place of the share of turns that begin one."""
        begun = means.get(_BEGINS)
        kept = {name: mean for name, mean in means.items() if name != _BEGINS}
        return kept | ({"chain_length": 1 / begun} if begun else {})

    def _references(self) -> Mapping[str, str]:
        return read_texts(self.reference) if self.reference else {}

    def _similar(self, pairs: Mapping[str, tuple[str, str]]) -> dict[str, dict[str, float]]:
        if not pairs:
            return {}
        rewrites, references = (self.embedder.embed(list(texts)) for texts in zip(*pairs.values(), strict=True))
        cosines = (rewrites * references).sum(axis=1).tolist()
        return {
            turn_id: {
                "rewrite_token_F1": bags(normalised(rewrite), normalised(reference)).f1,
                "rewrite_ROUGE-L": rouge_l(rewrite, reference),
                "rewrite_cosine": round(float(cosine), 6),
            }
            for (turn_id, (rewrite, reference)), cosine in zip(pairs.items(), cosines, strict=True)
        }


def _changed(record: TurnRecord) -> dict[str, float]:
    """Whether a follow-up question was changed, in more than white space and case; and whether a model was asked."""
    if not record.queries:
        return {}
    used = record.usage.get("rewriter")
    known = "rewriter" in record.timings
    asked = {"rewriter_asked_llm": float(used is not None and used.prompt_tokens > 0)} if known else {}
    if record.number == 1:
        return asked
    before, after = (" ".join(text.casefold().split()) for text in (record.original_query, record.rewritten_query))
    return {"rewrite_changed": float(before != after)} | asked


def _traced(trace: Mapping[str, Any]) -> dict[str, float]:
    """What rewriters leave in their trace: `condense` of a gate; `chains`, `available` and `selected` of dhrag."""
    values = {}
    if isinstance(condense := trace.get("condense"), bool):
        values["gate_calls"] = float(condense)
    if chains := trace.get("chains"):
        values[_BEGINS] = float(chains[-1] not in chains[:-1])
    if trace.get("available"):
        values["history_available"] = float(trace["available"])
        if isinstance(selected := trace.get("selected"), list):
            values["history_selected"] = float(len(selected))
    return values
