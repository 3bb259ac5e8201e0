"""`context=dedup`: what the model has before it is pointed at, not repeated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from convrag import LLM, ConfigError, Context, Evidence, EvidenceItem, Hit, Message, Question
from convrag.sdk.ordering import Order, arrange
from convrag_dedup.deduplication import Overlap, block, counts, normalised, overlap
from convrag_dedup.lookup import Hints
from convrag_dedup.shown_passages import Past


class DedupContext(Context):
    """Show new passages in full, and point at those that already stand in the messages (RAGBoost).

    Saves only with a generator that sends the earlier evidence along (generator=chat): with any other, or where a
    message was trimmed away, the full text goes again, since a hint at text that is not there is a loss of
    information. The trace counts per turn: num_retrieved, num_novel (shown in full), num_deduplicated (shown as a
    hint), deduplication_rate (a fraction), num_sent_again (of the novel, those that the conversation had shown before),
    tokens_saved (of what hints stand for, less those of the hints), tokens_sent_again, and the ids of
    passages without a text (missing), which are neither shown nor hinted at.

    Args:
        llm: counts the tokens.
        only_if_present: hint only at text that stands in the messages that will be sent. False hints at whatever an
            earlier turn has shown, as the original does: for comparisons, and for callers who keep the messages.
        hints: False shows everything in full, in the same format: the baseline.
        content_hash: a passage whose text has changed is new; False compares ids alone.
        near_duplicate: the likeness (Jaccard, of three words running, 0 to 1) from which a new passage counts as an
            earlier one under another id, so that the hint names that one; None compares exactly. A hint then stands
            for a text that may differ in what matters (a number, a "not").
        order: retrieval is best first, hints and texts mixed, as in the seed; stable puts passages of earlier turns
            first, in their old order; ends puts the best first and last.

    Raises:
        ConfigError: near_duplicate is not above 0 and at most 1.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        only_if_present: bool = True,
        hints: bool = True,
        content_hash: bool = True,
        near_duplicate: float | None = None,
        order: Order = "retrieval",
    ) -> None:
        if near_duplicate is not None and not 0 < near_duplicate <= 1:
            raise ConfigError(f"context.near_duplicate={near_duplicate}: a likeness above 0 and at most 1, or null")
        self.llm = llm
        self.only_if_present = only_if_present
        self.hints = hints
        self.content_hash = content_hash
        self.near_duplicate = near_duplicate
        self.order = order

    def assemble(self, question: Question, hits: Sequence[Hit], messages: Sequence[Message]) -> Evidence:
        """Each distinct passage once, numbered from 1 as shown; passages without a text are left out."""
        scratch = question.state(self)
        past = self._past(scratch, question)
        ids = [normalised(hit.passage.id) for hit in hits]
        passages = {key: hit.passage for key, hit in zip(reversed(ids), reversed(hits), strict=True)}  # the best copies
        hints = Hints(past, messages, len(question.history), self) if self.hints else None
        found = overlap(
            ids,
            lambda key: passages[key].content if passages[key].text.strip() else "",
            lambda key: hints.instead_of(passages[key]) if hints else "",
        )
        shown = list(found.shown.items())
        ordered = arrange(shown, self.order, [past.place(passages[key]) for key, _ in shown])
        items = tuple(
            EvidenceItem(number, passages[key], text, key in found.hinted)
            for number, (key, text) in enumerate(ordered, start=1)
        )
        return Evidence(items, self._trace(scratch, past, found, items))

    def _trace(
        self, scratch: dict[str, Any], past: Past, found: Overlap, items: Sequence[EvidenceItem]
    ) -> dict[str, Any]:
        def tokens(texts: Iterable[str]) -> int:
            return sum(self._tokens(scratch, text) for text in texts)

        hinted = [item for item in items if item.hint]
        spared = [block(normalised(item.passage.id), item.passage.content) for item in hinted]
        full = [item for item in items if not item.hint]
        again = [item.text for item in full if past.same(item.passage, content=self.content_hash)]
        return counts(found) | {
            "num_sent_again": len(again),
            "tokens_saved": tokens(spared) - tokens(item.text for item in hinted),
            "tokens_sent_again": tokens(again),
            "missing": list(found.missing),
            "repeated": found.repeated,
        }

    def _past(self, scratch: dict[str, Any], question: Question) -> Past:
        """The index of this conversation's history, brought up to date, or built anew where it is of another one."""
        past = scratch.get("past")
        if past is None or not past.follow(question.history):
            past = scratch["past"] = Past(self.near_duplicate)
            past.follow(question.history)
        assert isinstance(past, Past)
        return past

    def _tokens(self, scratch: dict[str, Any], text: str) -> int:
        """Counted once per text and conversation."""
        known: dict[str, int] = scratch.setdefault("tokens", {})
        if text not in known:
            known[text] = self.llm.count_tokens(text)
        return known[text]
