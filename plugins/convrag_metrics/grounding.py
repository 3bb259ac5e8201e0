"""`metrics=grounding`: whether answers cite passages that exist and support the answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, NamedTuple

from annotated_types import Interval

from convrag import Metrics, TurnRecord
from convrag.sdk.text.analysis import find_stems
from convrag.sdk.text.answers import lacks_part
from convrag.sdk.text.citations import blank_citations, find_citations, strip_citations
from convrag.sdk.text.sentences import find_sentence_spans
from convrag_metrics.idk import detect_idk_answer

_SENTENCES = "grounding_sentences"
_CITED = "grounding_cited"
_CITATIONS = "grounding_citations"
_EXISTING = "grounding_existing"
_JUDGED = "grounding_judged"
_SUPPORTED = "grounding_supported"
_COUNTS = (_SENTENCES, _CITED, _CITATIONS, _EXISTING, _JUDGED, _SUPPORTED)

_SHARES = {
    "cited_sentences": (_CITED, _SENTENCES),
    "existing_citations": (_EXISTING, _CITATIONS),
    "supported_sentences": (_SUPPORTED, _JUDGED),
}
"""Measure -> the counts whose ratio it is."""

GROUNDED = "grounded_sentences"


class GroundingMetrics(Metrics):
    """Shares of sentences with citations, of existing citations, and of supported sentences.

    A supported sentence cites passages that support it. Citations are marks like [1] or [1, 2],
    which name passages of the evidence by number. grounded_sentences is the share of an answer's
    sentences that cite passages which support them, and a mean over turns. The other shares are of
    all sentences and citations of the turns together; scores.jsonl has the counts of each turn. An
    answer that only says that it does not know needs no citation and is left out, as a turn without
    an answer is. Definitions are in docs/metrics.md.

    Args:
        threshold: the share of a sentence's content words that the passages must have.
    """

    reads = ("answer",)

    def __init__(self, *, threshold: Annotated[float, Interval(ge=0, le=1)] = 0.5) -> None:
        self.threshold = threshold

    def load_libraries(self) -> None:
        """Import the library that splits answers into sentences."""
        find_sentence_spans("One. Two.")

    def list_measures(self) -> Sequence[str]:
        return (GROUNDED, *_SHARES)

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Count the sentences and citations of each turn with an answer."""
        earlier = _find_earlier_texts(records)
        counts = {}
        for record in records:
            if _is_measured(record):
                texts = earlier.get(record.conversation_id, {})
                counts[record.turn_id] = self._count(record, texts)
        return counts

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        """Conclude the shares from the counts; a share of nothing is left out."""
        shares = {}
        for name, (part, whole) in _SHARES.items():
            if means.get(whole, 0.0):
                shares[name] = means.get(part, 0.0) / means[whole]
        return shares | {name: mean for name, mean in means.items() if name not in _COUNTS}

    def _count(self, record: TurnRecord, earlier: Mapping[str, str]) -> dict[str, float]:
        """Count the sentences and citations of a turn.

        Args:
            record: the turn.
            earlier: passage id -> text, of the passages that only earlier turns have shown.
        """
        texts = {**earlier, **_list_texts(record)}
        numbers = record.citation_numbers
        passages = {number: texts[name] for name, number in numbers.items() if name in texts}
        sentences = split_cited_sentences(record.answer.text)
        counts = dict.fromkeys(_COUNTS, 0.0)
        for sentence in sentences:
            existing = [number for number in sentence.citations if number in passages]
            counts[_SENTENCES] += 1
            counts[_CITATIONS] += len(sentence.citations)
            counts[_EXISTING] += len(existing)
            if sentence.citations:
                counts[_CITED] += 1
            if existing:
                cited = [passages[number] for number in dict.fromkeys(existing)]
                counts[_JUDGED] += 1
                if has_lexical_support(sentence.text, cited, self.threshold):
                    counts[_SUPPORTED] += 1
        if sentences:
            counts[GROUNDED] = counts[_SUPPORTED] / len(sentences)
        return counts


def _list_texts(record: TurnRecord) -> dict[str, str]:
    """Return passage id -> text of a turn's evidence; a hint counts as its passage."""
    return {item.passage.id: item.all_text for item in record.evidence.items}


def _find_earlier_texts(records: Iterable[TurnRecord]) -> dict[str, dict[str, str]]:
    """Find the texts of the passages that answers cite from earlier turns.

    Returns:
        Conversation id -> passage id -> text.
    """
    wanted: dict[str, set[str]] = {}
    for record in records:
        own = {item.passage.id for item in record.evidence.items}
        others = record.citation_numbers.keys() - own
        if others:
            wanted.setdefault(record.conversation_id, set()).update(others)
    found: dict[str, dict[str, str]] = {}
    for record in records if wanted else ():
        names = wanted.get(record.conversation_id, ())
        for name, text in _list_texts(record).items():
            if name in names:
                found.setdefault(record.conversation_id, {})[name] = text
    return found


def has_lexical_support(sentence: str, texts: Sequence[str], threshold: float) -> bool:
    """Whether texts together have enough of a sentence's content words, and all of its numbers.

    Words are compared as stems. A sentence without content words is supported.

    Args:
        sentence: a sentence of an answer.
        texts: the texts that it cites.
        threshold: the share of the content words that the texts must have.
    """
    wanted = find_stems(sentence)
    known = frozenset[str]().union(*map(find_stems, texts))
    numbers = {stem for stem in wanted if any(map(str.isdigit, stem))}
    return numbers <= known and len(wanted & known) >= threshold * len(wanted)


def _is_measured(record: TurnRecord) -> bool:
    """Whether a turn has an answer that should cite its evidence, and the evidence is known."""
    if not record.answer.text.strip() or lacks_part(record, "evidence"):
        return False
    return detect_idk_answer(record) != "yes"


class CitedSentence(NamedTuple):
    """A sentence without its citations, and the numbers that these name, in order."""

    text: str
    citations: tuple[int, ...]


def split_cited_sentences(answer: str) -> list[CitedSentence]:
    """Split an answer into the sentences that have a letter.

    A citation belongs to the last sentence that begins before it.
    """
    plain = blank_citations(answer)
    spans = [
        (start, end)
        for start, end in find_sentence_spans(plain)
        if any(map(str.isalpha, plain[start:end]))
    ]
    numbers: list[list[int]] = [[] for _ in spans]
    for citation in find_citations(answer):
        if plain[citation.start] != " ":  # not blanked, so it is part of the text
            continue
        begun = sum(start <= citation.start for start, _ in spans)
        if begun:
            numbers[begun - 1] += citation.numbers
    return [
        CitedSentence(strip_citations(answer[start:end]), tuple(cited))
        for (start, end), cited in zip(spans, numbers, strict=True)
    ]
