"""`metrics=rewrites`: rewrites compared with reference rewrites, and how often and by what
questions are changed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convrag import DataError, Embedder, Metrics, TurnRecord
from convrag.sdk.data.jsonl import read_lines_in
from convrag.sdk.data.utterances import get_last_utterance
from convrag.sdk.identity import file_hash
from convrag_metrics.token_overlap import measure_rouge_l, measure_token_f1

_CHAIN_BEGINS = "chain_begins"


@dataclass(kw_only=True, eq=False)
class RewriteMetrics(Metrics):
    """How rewrites compare with reference rewrites, how often questions are changed, and what gates and chains did.

    For the turns of a file of reference rewrites: rewrite_token_F1, rewrite_ROUGE-L and
    rewrite_cosine (of embeddings). For follow-up turns: rewrite_changed. For rewriters with a gate
    (condense): gate_calls, the share of turns that it let be rewritten. For dhrag: the mean length
    of its chains, and the numbers of earlier turns and of selected ones. rewriter_asked_llm is the
    share of turns in which the rewriter asked a language model. Definitions are in docs/metrics.md.

    Args:
        embedder: embeds rewrites for rewrite_cosine; used only where there are reference rewrites.
        reference: reference rewrites in BEIR format ({"_id": turn, "text": rewrite}; MTRAG's prefix
            is taken off), or a folder of *.jsonl files with them.
    """

    libraries = ("rapidfuzz",)
    reads = ()

    embedder: Embedder
    reference: Path | None = None

    def check(self) -> Iterable[str]:
        """Whether the reference rewrites can be read."""
        try:
            self._read_references()
        except DataError as error:
            yield str(error)

    def content_hash(self) -> str:
        """A hash of the reference rewrites, wherever the files are."""
        if self.reference is None or not self.reference.exists():
            return ""
        files = (
            sorted(self.reference.glob("*.jsonl")) if self.reference.is_dir() else [self.reference]
        )
        return "+".join(file_hash(path) for path in files)

    def list_measures(self) -> Sequence[str]:
        compared = (
            ("rewrite_token_F1", "rewrite_ROUGE-L", "rewrite_cosine") if self.reference else ()
        )
        traced = ("gate_calls", "chain_length", "history_available", "history_selected")
        return (*compared, "rewrite_changed", "rewriter_asked_llm", *traced)

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Values of every turn with a rewrite; the first turn of a conversation has fewer."""
        references = self._read_references()
        measured: dict[str, dict[str, float]] = {}
        pairs: dict[str, tuple[str, str]] = {}
        for record in records:
            measured[record.turn_id] = _measure_change(record) | _measure_trace(
                record.trace.get("rewriter", {})
            )
            if reference := references.get(record.turn_id):
                pairs[record.turn_id] = record.rewritten_query, reference
        for turn_id, scores in self._compare(pairs).items():
            measured[turn_id] |= scores
        return {turn_id: values for turn_id, values in measured.items() if values}

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        """The mean length of chains in place of the share of turns that begin one."""
        begun = means.get(_CHAIN_BEGINS)
        kept = {name: mean for name, mean in means.items() if name != _CHAIN_BEGINS}
        return kept | ({"chain_length": 1 / begun} if begun else {})

    def _read_references(self) -> Mapping[str, str]:
        return read_reference_rewrites(self.reference) if self.reference else {}

    def _compare(self, pairs: Mapping[str, tuple[str, str]]) -> dict[str, dict[str, float]]:
        if not pairs:
            return {}
        rewrites, references = (
            self.embedder.embed(list(texts)) for texts in zip(*pairs.values(), strict=True)
        )
        cosines = (rewrites * references).sum(axis=1).tolist()
        return {
            turn_id: {
                "rewrite_token_F1": measure_token_f1(rewrite, reference),
                "rewrite_ROUGE-L": measure_rouge_l(rewrite, reference),
                "rewrite_cosine": round(float(cosine), 6),
            }
            for (turn_id, (rewrite, reference)), cosine in zip(pairs.items(), cosines, strict=True)
        }


def read_reference_rewrites(path: Path) -> dict[str, str]:
    """Turn id -> rewrite, from a file in BEIR's format or all *.jsonl files of a folder.

    Of utterances marked |user|, the last is the rewrite.

    Raises:
        DataError: there is no such file, a line is not in BEIR's format, or a turn occurs twice.
    """
    rewrites: dict[str, str] = {}
    for line in read_lines_in(path, ".jsonl"):
        row = line.json()
        turn_id, text = row.get("_id"), row.get("text")
        if not isinstance(turn_id, str) or not isinstance(text, str):
            raise line.error('this must be {"_id": turn, "text": rewrite}, both of them strings')
        if turn_id in rewrites:
            raise line.error(f"the turn {turn_id!r} occurs twice")
        rewrites[turn_id] = get_last_utterance(text)
    return rewrites


def _measure_change(record: TurnRecord) -> dict[str, float]:
    """Whether a follow-up question was changed, in more than white space and case; and whether a
    model was asked.
    """
    if not record.queries:
        return {}
    used = record.usage.get("rewriter")
    known = "rewriter" in record.timings
    asked = (
        {"rewriter_asked_llm": float(used is not None and used.prompt_tokens > 0)} if known else {}
    )
    if record.number == 1:
        return asked
    before, after = (
        " ".join(text.casefold().split())
        for text in (record.original_query, record.rewritten_query)
    )
    return {"rewrite_changed": float(before != after)} | asked


def _measure_trace(trace: Mapping[str, Any]) -> dict[str, float]:
    """Values from the rewriter's trace: `condense` of a gate; `chains`, `available` and `selected`
    of dhrag.
    """
    values = {}
    if isinstance(condense := trace.get("condense"), bool):
        values["gate_calls"] = float(condense)
    if chains := trace.get("chains"):
        values[_CHAIN_BEGINS] = float(chains[-1] not in chains[:-1])
    if trace.get("available"):
        values["history_available"] = float(trace["available"])
        if isinstance(selected := trace.get("selected"), list):
            values["history_selected"] = float(len(selected))
    return values
