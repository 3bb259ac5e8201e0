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
from convrag.sdk.search.ordering import Order, arrange_items
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
from convrag_dedup.stats import report_deduplication, turn_stats


class DedupContext(Context):
    """Show new passages in full, and replace those that already stand in the messages with hints (RAGBoost).

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
        only_if_present: hint only at text that stands in the messages that will be sent. False
            hints at whatever an earlier turn has shown, as the original does: for comparisons, and
            for callers who keep the messages.
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
        """Passages shown as hints and tokens saved, in all and by the position of turns."""
        return report_deduplication(records)

    def assemble(
        self, question: Question, hits: Sequence[Hit], messages: Sequence[Message]
    ) -> Evidence:
        """Each distinct passage once, numbered from 1 as shown; passages without a text are left
        out.
        """
        make = partial(ShownPassages, self.near_duplicate)
        earlier = continue_reading(question.state(self), question.whole_history, make)
        passages = first_by_id(
            (hit.passage.id, hit.passage) for hit in hits
        )  # of copies, the best-ranked one
        finder = HintFinder(
            earlier,
            messages,
            compare_content=self.compare_content,
            only_if_present=self.only_if_present,
        )
        turn = deduplicate(
            passages,
            lambda key: finder.find_hint(passages[key]) if self.hints else None,
            lambda key: passages[key].content if passages[key].text.strip() else "",
        )
        shown = list(turn.shown.items())
        ordered = arrange_items(
            shown, self.order, [earlier.position(passages[key]) for key, _ in shown]
        )
        hinted = set(turn.hinted)
        items = tuple(
            EvidenceItem(number, passages[key], text, key in hinted)
            for number, (key, text) in enumerate(ordered, start=1)
        )
        trace = self._trace(earlier, turn, items)
        return Evidence(
            items, trace | {"hints": finder.targets, "repeated": len(hits) - len(passages)}
        )

    def _trace(
        self, earlier: ShownPassages, turn: DeduplicatedTurn, items: Sequence[EvidenceItem]
    ) -> dict[str, Any]:
        def count_tokens(texts: Iterable[str]) -> int:
            return sum(map(self.llm.count_tokens, texts))

        hints = [item for item in items if item.hint]
        replaced = [item.passage.content for item in hints]
        sent_again = [
            item.text
            for item in items
            if not item.hint
            and earlier.find_same(item.passage, compare_content=self.compare_content)
        ]
        return turn_stats(turn) | {
            "num_sent_again": len(sent_again),
            "tokens_saved": count_tokens(replaced) - count_tokens(item.text for item in hints),
            "tokens_sent_again": count_tokens(sent_again),
            "missing": turn.missing,
        }


_LABEL = re.compile(r"\[(?:\d+|Doc_[^\[\]\n]+)\]")
_QUOTED_WORDS = 8  # of a passage's beginning: enough to tell it from other passages


@dataclass
class HintFinder:
    """Finds the hints for the passages of one turn.

    `targets` are the ids of the passages for which a hint was found, with the id of the passage
    that it points at.

    Args:
        shown: what the conversation has shown.
        messages: the earlier messages that the generator has announced, oldest first.
        compare_content: whether a passage with a changed text is new.
        only_if_present: whether a hint may point only at text that stands in the messages.
    """

    shown: ShownPassages
    messages: Sequence[Message]
    compare_content: bool
    only_if_present: bool
    targets: dict[str, str] = field(default_factory=dict)

    def find_hint(self, passage: Passage) -> str | None:
        """The hint to show instead of a passage; None where it must be shown in full."""
        same = self.shown.find_same(passage, compare_content=self.compare_content)
        if (shown := same or self.shown.find_near_duplicate(passage)) is None:
            return None
        text = shown.text.strip()
        message = next(
            (message.content for message in self.messages if text in message.content), None
        )
        if message is None and self.only_if_present:
            return None
        target = normalise_id(shown.id)
        self.targets[normalise_id(passage.id)] = target
        return format_hint(target) if message is None else self._point_at(shown, message)

    def _point_at(self, shown: Passage, message: str) -> str:
        """RAGBoost's sentence with the message's own label; with the passage's beginning where that
        is ambiguous.
        """
        label = find_label(message, shown.text.strip())
        if label and self.shown.has_one_version(shown):
            return point_at(label)
        beginning = " ".join(shown.text.split()[:_QUOTED_WORDS])
        return f'{point_at(label or format_label(normalise_id(shown.id)))} It begins: "{beginning}"'


def find_label(message: str, text: str) -> str:
    """The label that a message has before a text, "[3]" or "[Doc_7]"; empty if there is none.

    It stands in the same paragraph, or in the one before where the passage began with blank lines.
    """
    paragraph = message[: message.index(text)].rstrip().rpartition("\n\n")[2]
    found = _LABEL.search(paragraph)
    return found[0] if found else ""
