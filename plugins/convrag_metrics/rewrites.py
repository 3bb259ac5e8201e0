"""`metrics=rewrites`: rewrites compared with reference rewrites, and how often questions change."""

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
    """Rewrites against reference rewrites, changed questions, and the work of gates and chains.

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
        """Check that the reference rewrites can be read."""
        try:
            self._read_references()
        except DataError as error:
            yield str(error)

    def content_hash(self) -> str:
        """Return a hash of the reference rewrites, wherever the files are."""
        if self.reference is None or not self.reference.exists():
            return ""
        files = [self.reference]
        if self.reference.is_dir():
            files = sorted(self.reference.glob("*.jsonl"))
        return "+".join(file_hash(path) for path in files)

    def list_measures(self) -> Sequence[str]:
        measures = []
        if self.reference:
            measures += ["rewrite_token_F1", "rewrite_ROUGE-L", "rewrite_cosine"]
        measures += ["rewrite_changed", "rewriter_asked_llm"]
        return [*measures, "gate_calls", "chain_length", "history_available", "history_selected"]

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Measure every turn with a rewrite; the first turn of a conversation has fewer values."""
        references = self._read_references()
        measured: dict[str, dict[str, float]] = {}
        pairs: dict[str, tuple[str, str]] = {}
        for record in records:
            trace = record.trace.get("rewriter", {})
            measured[record.turn_id] = _measure_change(record) | _measure_trace(trace)
            reference = references.get(record.turn_id)
            if reference:
                pairs[record.turn_id] = (record.rewritten_query, reference)
        for turn_id, scores in self._compare(pairs).items():
            measured[turn_id] |= scores
        return {turn_id: values for turn_id, values in measured.items() if values}

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        """Conclude the mean length of chains from the share of turns that begin one."""
        concluded = {name: mean for name, mean in means.items() if name != _CHAIN_BEGINS}
        share = means.get(_CHAIN_BEGINS)
        if share:
            concluded["chain_length"] = 1 / share
        return concluded

    def _read_references(self) -> Mapping[str, str]:
        return read_reference_rewrites(self.reference) if self.reference else {}

    def _compare(self, pairs: Mapping[str, tuple[str, str]]) -> dict[str, dict[str, float]]:
        """Compare rewrites with references, turn id -> measure -> value.

        Args:
            pairs: turn id -> its rewrite and its reference.
        """
        if not pairs:
            return {}
        rewrites = self.embedder.embed([rewrite for rewrite, _ in pairs.values()])
        references = self.embedder.embed([reference for _, reference in pairs.values()])
        cosines = (rewrites * references).sum(axis=1).tolist()
        values = {}
        for (turn_id, (rewrite, reference)), cosine in zip(pairs.items(), cosines, strict=True):
            values[turn_id] = {
                "rewrite_token_F1": measure_token_f1(rewrite, reference),
                "rewrite_ROUGE-L": measure_rouge_l(rewrite, reference),
                "rewrite_cosine": round(float(cosine), 6),
            }
        return values


def read_reference_rewrites(path: Path) -> dict[str, str]:
    """Read turn id -> rewrite from a file in BEIR's format, or all *.jsonl files of a folder.

    Of utterances marked |user|, the last is the rewrite.

    Raises:
        DataError: there is no such file, a line is not in BEIR's format, or a turn occurs twice.
    """
    rewrites: dict[str, str] = {}
    for line in read_lines_in(path, ".jsonl"):
        row = line.json()
        turn_id = row.get("_id")
        text = row.get("text")
        if not isinstance(turn_id, str) or not isinstance(text, str):
            raise line.error('this must be {"_id": turn, "text": rewrite}, both of them strings')
        if turn_id in rewrites:
            raise line.error(f"the turn {turn_id!r} occurs twice")
        rewrites[turn_id] = get_last_utterance(text)
    return rewrites


def _measure_change(record: TurnRecord) -> dict[str, float]:
    """Measure whether a model was asked, and whether a follow-up question was changed.

    White space and case do not count as changes.
    """
    values: dict[str, float] = {}
    if not record.queries:
        return values
    if record.number > 1:
        before = " ".join(record.original_query.casefold().split())
        after = " ".join(record.rewritten_query.casefold().split())
        values["rewrite_changed"] = float(before != after)
    if "rewriter" in record.timings:
        usage = record.usage.get("rewriter")
        values["rewriter_asked_llm"] = float(usage is not None and usage.prompt_tokens > 0)
    return values


def _measure_trace(trace: Mapping[str, Any]) -> dict[str, float]:
    """Measure the rewriter's trace: a gate has `condense`; dhrag has `chains` and its history."""
    values = {}
    condense = trace.get("condense")
    if isinstance(condense, bool):
        values["gate_calls"] = float(condense)
    chains = trace.get("chains")
    if chains:
        *earlier, last = chains
        values[_CHAIN_BEGINS] = float(last not in earlier)
    if trace.get("available"):
        values["history_available"] = float(trace["available"])
        selected = trace.get("selected")
        if isinstance(selected, list):
            values["history_selected"] = float(len(selected))
    return values
