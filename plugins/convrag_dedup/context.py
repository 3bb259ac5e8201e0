"""`context=dedup`: passages that the model already has become hints."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

from annotated_types import Interval

from convrag import (
    LLM,
    Context,
    Evidence,
    EvidenceItem,
    Hit,
    Message,
    Passage,
    Question,
    Report,
    TurnRecord,
)
from convrag.sdk.llm.history import continue_reading
from convrag.sdk.llm.marks import protect_passage
from convrag.sdk.search.prompt_order import Order, arrange_items
from convrag.sdk.text.analysis import take_words
from convrag_dedup.dedup_metrics import report_deduplication
from convrag_dedup.deduplication import (
    DeduplicatedTurn,
    deduplicate,
    first_by_id,
    format_hint,
    format_label,
    normalise_id,
    point_at,
)
from convrag_dedup.shown_passages import ShownPassages
from convrag_dedup.stats import turn_stats


class DedupContext(Context):
    """Show new passages in full, and passages that the messages already have as hints (RAGBoost).

    Saves tokens only with a generator that sends the earlier evidence along (generator=chat). With
    any other, or where a message was trimmed away, the full text is sent again, since a hint at a
    text that is not there loses information. The trace counts per turn: num_retrieved, num_novel
    (shown in full), num_deduplicated (shown as a hint), deduplication_rate (a fraction),
    num_sent_again (of the novel, those that the conversation had shown before), tokens_saved (of
    the passages that hints replace, less the hints' own), tokens_sent_again, the ids of passages
    without a text (missing), which are neither shown nor hinted at, at which id each hint points
    (hints), and how many hits had the id of a better-ranked one (repeated). A hint names the
    passage as the messages do: by its number with generator=chat.

    Args:
        llm: counts the tokens.
        only_if_present: hint only at text in the messages that will be sent. False hints at any
            text that an earlier turn has shown, as the original does: for comparisons, and for
            callers who keep the messages.
        hints: False shows everything in full: a baseline.
        content_hash: a passage whose text has changed is new; False compares ids alone.
        near_duplicate: the Jaccard likeness (of sets of three consecutive words, 0 to 1) from which
            a new passage counts as an earlier one with another id, which the hint then names; None
            compares exactly. A hint then replaces a text that may differ in what matters (a number,
            a "not").
        order: retrieval is best first, hints and texts mixed, as in RAGBoost; stable puts passages
            of earlier turns first, in their old order; ends puts the best first and last.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        only_if_present: bool = True,
        hints: bool = True,
        content_hash: bool = True,
        near_duplicate: Annotated[float, Interval(gt=0, le=1)] | None = None,
        order: Order = "retrieval",
    ) -> None:
        self.llm = llm
        self.only_if_present = only_if_present
        self.hints = hints
        self.compare_content = content_hash
        self.near_duplicate = near_duplicate
        self.order = order

    def report(self, records: Iterable[TurnRecord]) -> Report | None:
        """Report the passages shown as hints and the tokens saved, also by position of turns."""
        return report_deduplication(records)

    def assemble(
        self, question: Question, hits: Sequence[Hit], messages: Sequence[Message]
    ) -> Evidence:
        """Return each distinct passage once, numbered from 1 as shown.

        Passages without a text are left out.
        """
        make = partial(ShownPassages, self.near_duplicate)
        earlier = continue_reading(question.state(self), question.whole_history, make)
        # The best-ranked one of several copies
        passages = first_by_id((hit.passage.id, hit.passage) for hit in hits)
        finder = HintFinder(
            earlier,
            messages,
            compare_content=self.compare_content,
            only_if_present=self.only_if_present,
        )

        def find_hint(key: str) -> str | None:
            return finder.find_hint(passages[key]) if self.hints else None

        def get_text(key: str) -> str:
            passage = passages[key]
            return passage.content if passage.text.strip() else ""

        turn = deduplicate(passages, find_hint, get_text)
        shown = list(turn.shown.items())
        positions = [earlier.position(passages[key]) for key, _ in shown]
        hinted = set(turn.hinted)
        items = []
        for number, (key, text) in enumerate(arrange_items(shown, self.order, positions), start=1):
            items.append(EvidenceItem(number, passages[key], text, key in hinted))
        trace = self._make_trace(earlier, turn, items)
        trace |= {"hints": finder.targets, "repeated": len(hits) - len(passages)}
        return Evidence(tuple(items), trace)

    def _make_trace(
        self, earlier: ShownPassages, turn: DeduplicatedTurn, items: Sequence[EvidenceItem]
    ) -> dict[str, Any]:
        hints = [item for item in items if item.hint]
        sent_again = []
        for item in items:
            if item.hint:
                continue
            if earlier.find_same(item.passage, compare_content=self.compare_content):
                sent_again.append(item)
        replaced_tokens = self._count_tokens(item.passage.content for item in hints)
        hint_tokens = self._count_tokens(item.text for item in hints)
        return turn_stats(turn) | {
            "num_sent_again": len(sent_again),
            "tokens_saved": replaced_tokens - hint_tokens,
            "tokens_sent_again": self._count_tokens(item.text for item in sent_again),
            "missing": turn.missing,
        }

    def _count_tokens(self, texts: Iterable[str]) -> int:
        return sum(self.llm.count_tokens(text) for text in texts)


_LABEL = re.compile(r"\[(?:\d+|Doc_[^\[\]\n]+)\]")
_QUOTED_WORDS = 8
"""Words of a passage's beginning that tell it from other passages."""


@dataclass
class HintFinder:
    """Finds the hints for the passages of one turn.

    Args:
        shown: the passages that the conversation has shown.
        messages: the earlier messages that the generator has announced, oldest first.
        compare_content: whether a passage with a changed text is new.
        only_if_present: whether a hint may point only at text in the messages.
        targets: the id of each passage for which a hint was found -> the id of the passage that it
            points at.
    """

    shown: ShownPassages
    messages: Sequence[Message]
    compare_content: bool
    only_if_present: bool
    targets: dict[str, str] = field(default_factory=dict)

    def find_hint(self, passage: Passage) -> str | None:
        """Find the hint in place of a passage; None where it must be shown in full."""
        shown = self.shown.find_same(passage, compare_content=self.compare_content)
        if shown is None:
            shown = self.shown.find_near_duplicate(passage)
        if shown is None:
            return None
        message = self._find_message(shown)
        if message is None and self.only_if_present:
            return None
        target = normalise_id(shown.id)
        self.targets[normalise_id(passage.id)] = target
        return format_hint(target) if message is None else self._point_at(shown, message)

    def _find_message(self, shown: Passage) -> str | None:
        """Find the first message that has the text of a passage, as a prompt shows it."""
        text = protect_passage(shown.text.strip())
        for message in self.messages:
            if text in message.content:
                return message.content
        return None

    def _point_at(self, shown: Passage, message: str) -> str:
        """Format RAGBoost's sentence with the message's own label.

        Where the label is ambiguous, the sentence quotes the beginning of the passage.
        """
        label = find_label(message, protect_passage(shown.text.strip()))
        if label and self.shown.has_one_version(shown):
            return point_at(label)
        beginning = take_words(" ".join(shown.text.split()), _QUOTED_WORDS)
        hint = point_at(label or format_label(normalise_id(shown.id)))
        return f'{hint} It begins: "{beginning}"'


def find_label(message: str, text: str) -> str:
    """Find the label that a message has before a text, "[3]" or "[Doc_7]"; empty if there is none.

    It is in the same paragraph, or in the one before if the passage begins with blank lines.
    """
    paragraph = message[: message.index(text)].rstrip().rpartition("\n\n")[2]
    found = _LABEL.search(paragraph)
    return found[0] if found else ""
