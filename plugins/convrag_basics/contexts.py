"""Passages as the model sees them: `selector=top`, `context=full` and `context=snippets`."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from convrag import (
    LLM,
    Context,
    Evidence,
    EvidenceItem,
    Hit,
    Message,
    Passage,
    Question,
    Selection,
    Selector,
    Turn,
)
from convrag.sdk.search.prompt_order import Order, arrange_items
from convrag.sdk.text.analysis import find_stems
from convrag.sdk.text.sentences import find_sentence_spans, truncate_text


class TopSelector(Selector):
    """Choose the first passages of the ranking, as many as top_n says."""

    def select(self, question: Question, hits: Sequence[Hit], n: int) -> Selection:
        """Choose the first n hits."""
        return Selection(tuple(hits[:n]))


class FullContext(Context):
    """Show the model every retrieved passage in full.

    Args:
        order: retrieval puts the best first; ends puts the best first and last, since models
            overlook the middle; stable puts passages of earlier turns first, in their old order, so
            that a provider's prefix cache can be used.
    """

    def __init__(self, *, order: Order = "retrieval") -> None:
        self.order = order

    def assemble(
        self, question: Question, hits: Sequence[Hit], messages: Sequence[Message]
    ) -> Evidence:
        """Show each distinct passage once with its title, numbered from 1."""
        distinct: dict[str, Passage] = {}
        for hit in hits:
            distinct.setdefault(hit.passage.id, hit.passage)
        ranked = list(distinct.values())
        old = _first_positions(question.whole_history) if self.order == "stable" else {}
        ordered = arrange_items(ranked, self.order, [old.get(passage.id) for passage in ranked])
        items = tuple(
            EvidenceItem(number, passage, passage.content)
            for number, passage in enumerate(ordered, start=1)
        )
        return Evidence(items, {"repeated": len(hits) - len(items)})


def _first_positions(history: Iterable[Turn]) -> dict[str, int]:
    """Map passage ids to the position (from 0) at which the conversation first showed them."""
    shown = dict.fromkeys(passage.id for turn in history for passage in turn.passages)
    return {passage_id: position for position, passage_id in enumerate(shown)}


@dataclass(kw_only=True, eq=False)
class SnippetContext(Context):
    """Show the model the sentences of each passage that have most words of the question.

    For small context windows. The sentences of a snippet are consecutive. A passage that is short
    enough is shown in full, and each with its title. The trace has the number of passages that were
    cut (`cut`), and of their tokens that the model does not see (`tokens_left_out`).

    Args:
        llm: counts tokens.
        tokens: of a snippet, with its title (200: the Perplexity-style seed).
    """

    libraries = ("PyStemmer",)

    llm: LLM
    tokens: Annotated[int, Ge(1)] = 200

    def assemble(
        self, question: Question, hits: Sequence[Hit], messages: Sequence[Message]
    ) -> Evidence:
        """Show each distinct passage once, best first, numbered from 1."""
        wanted = find_stems(question.standalone or question.text)
        items: dict[str, EvidenceItem] = {}
        left_out = []
        for hit in hits:
            passage = hit.passage
            if passage.id in items:
                continue
            size = self.llm.count_tokens(passage.content)
            text = passage.content
            if size > self.tokens:
                title = f"{passage.title_above}\n" if passage.title_above else ""
                room = self.tokens - self.llm.count_tokens(title)
                text = title + find_snippet(passage.text, wanted, room, self.llm.count_tokens)
                left_out.append(size - self.llm.count_tokens(text))
            items[passage.id] = EvidenceItem(len(items) + 1, passage, text)
        trace = {
            "cut": len(left_out),
            "tokens_left_out": sum(left_out),
            "repeated": len(hits) - len(items),
        }
        return Evidence(tuple(items.values()), trace)


def find_snippet(
    text: str, wanted: Collection[str], tokens: int, count_tokens: Callable[[str], int]
) -> str:
    """Find the first consecutive sentences of a text with most of the wanted words.

    Args:
        text: a passage's text.
        wanted: stems of words.
        tokens: the most tokens of the snippet. A single sentence that has more is cut between
            words.
        count_tokens: counts the tokens of a text.
    """
    spans = find_sentence_spans(text)
    stems = [find_stems(text[start:end]).intersection(wanted) for start, end in spans]
    best = ""
    most = -1
    last = 0
    for first, (start, _) in enumerate(spans):
        last = max(last, first)
        while last + 1 < len(spans) and count_tokens(text[start : spans[last + 1][1]]) <= tokens:
            last += 1
        found = len(frozenset().union(*stems[first : last + 1]))
        if found > most:
            best = text[start : spans[last][1]]
            most = found
    return truncate_text(best, max(tokens, 1), count_tokens)
