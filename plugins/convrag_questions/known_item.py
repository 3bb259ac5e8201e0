"""Known-item questions, which `task=questions` writes without a language model."""

from collections.abc import Sequence

from convrag import Passage
from convrag.sdk.data.known_items import find_known_item, find_known_stems, get_heading
from convrag.sdk.search.frequencies import DocumentFrequencies
from convrag_questions.question import NOTHING, Counts, Exchange, Kind, WrittenTurn


class KnownItemWriter:
    """Writes known-item questions: the heading of a passage and rare words of one of its sentences.

    A follow-up leaves the heading out, so that it depends on the conversation. The sentence is the
    answer.

    Args:
        frequencies: tell rare words from common ones.
    """

    def __init__(self, frequencies: DocumentFrequencies) -> None:
        self.frequencies = frequencies

    def write(
        self, kind: Kind, style: str, passage: Passage, history: Sequence[Exchange], counts: Counts
    ) -> WrittenTurn | None:
        """Write the next question of a conversation; None where the passage has no rare words left.

        Args:
            kind: of the question.
            style: unused; a known-item question is no sentence.
            passage: that answers it.
            history: the conversation so far.
            counts: where questions are counted.
        """
        heading = get_heading(passage.title)
        known = find_known_stems(heading, *(exchange["user"] for exchange in history))
        item = find_known_item(passage.text, self.frequencies, known)
        if item is None:
            counts.refused[NOTHING] += 1
            return None
        counts.accepted += 1
        standalone = item.ask(heading)
        question = item.ask() if kind == "follow_up" else standalone
        return WrittenTurn(kind, question, item.sentence, standalone, item.sentence, passage)
