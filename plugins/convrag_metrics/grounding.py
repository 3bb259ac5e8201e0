"""`metrics=grounding`: whether answers cite, and whether the cited passages exist and support the
answer.
"""

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

_SENTENCES, _CITED, _CITATIONS, _EXISTING, _JUDGED, _SUPPORTED = _COUNTS = tuple(
    f"grounding_{name}"
    for name in ("sentences", "cited", "citations", "existing", "judged", "supported")
)
_SHARES = {
    "cited_sentences": (_CITED, _SENTENCES),
    "existing_citations": (_EXISTING, _CITATIONS),
    "supported_sentences": (_SUPPORTED, _JUDGED),
}


GROUNDED = "grounded_sentences"


class GroundingMetrics(Metrics):
    """Share of sentences with a citation, of citations that exist, and of cited sentences that their passages support.

    Citations are marks like [1] or [1, 2], which name passages of the evidence by number.
    grounded_sentences is the share of an answer's sentences that cite passages which support them,
    and a mean over turns. The other shares are of all sentences and citations of the turns
    together; scores.jsonl has the counts of each turn. An answer that only says that it does not
    know needs no citation and is left out, as a turn without an answer is. Definitions are in
    docs/metrics.md.

    Args:
        threshold: the share of a sentence's content words that the passages must have.
    """

    reads = ("answer",)

    def __init__(self, *, threshold: Annotated[float, Interval(ge=0, le=1)] = 0.5) -> None:
        self.threshold = threshold

    def load_libraries(self) -> None:
        """Import what answers are split into sentences with."""
        find_sentence_spans("One. Two.")

    def list_measures(self) -> Sequence[str]:
        return (GROUNDED, *_SHARES)

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Counts of each turn with an answer."""
        return {record.turn_id: self._count(record) for record in records if _is_measured(record)}

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        """The shares in place of the counts; a share of nothing is left out."""
        pairs = {
            name: (means.get(part, 0.0), means.get(whole, 0.0))
            for name, (part, whole) in _SHARES.items()
        }
        shares = {name: part / whole for name, (part, whole) in pairs.items() if whole}
        return shares | {name: mean for name, mean in means.items() if name not in _COUNTS}

    def _count(self, record: TurnRecord) -> dict[str, float]:
        """The counts of a turn."""
        passages = {
            item.number: item.passage.content.strip() or item.text for item in record.evidence.items
        }
        sentences = split_cited_sentences(record.answer.text)
        cited = [
            list(dict.fromkeys(number for number in each.citations if number in passages))
            for each in sentences
        ]
        numbers = [number for sentence in sentences for number in sentence.citations]
        supported = [
            has_lexical_support(each.text, [passages[number] for number in known], self.threshold)
            for each, known in zip(sentences, cited, strict=True)
            if known
        ]
        counts = {
            _SENTENCES: len(sentences),
            _CITED: sum(bool(sentence.citations) for sentence in sentences),
            _CITATIONS: len(numbers),
            _EXISTING: sum(number in passages for number in numbers),
            _JUDGED: len(supported),
            _SUPPORTED: sum(supported),
        }
        share = {GROUNDED: sum(supported) / len(sentences)} if sentences else {}
        return {name: float(value) for name, value in (counts | share).items()}


def has_lexical_support(sentence: str, texts: Sequence[str], threshold: float) -> bool:
    """Whether the cited texts together have enough of a sentence's content words (as stems), and
    all of its numbers.

    A sentence without content words is supported.

    Args:
        sentence: of an answer.
        texts: that it cites.
        threshold: the share of the content words that the texts must have.
    """
    wanted, known = find_stems(sentence), frozenset[str]().union(*map(find_stems, texts))
    numbers = {stem for stem in wanted if any(map(str.isdigit, stem))}
    return numbers <= known and len(wanted & known) >= threshold * len(wanted)


def _is_measured(record: TurnRecord) -> bool:
    """Whether a turn has an answer that should cite its evidence, and the evidence is known."""
    known = record.answer.text.strip() and not lacks_part(record, "evidence")
    return bool(known) and detect_idk_answer(record) != "yes"


class CitedSentence(NamedTuple):
    """A sentence without its citations, and the numbers that these name, in order."""

    text: str
    citations: tuple[int, ...]


def split_cited_sentences(answer: str) -> list[CitedSentence]:
    """The sentences of an answer that have a letter; a citation belongs to the last one that begins
    before it.
    """
    plain = blank_citations(answer)
    spans = [
        (start, end)
        for start, end in find_sentence_spans(plain)
        if any(map(str.isalpha, plain[start:end]))
    ]
    numbers: list[list[int]] = [[] for _ in spans]
    for mark in find_citations(answer):
        if (place := sum(start <= mark.start for start, _ in spans)) and plain[mark.start] == " ":
            numbers[place - 1] += mark.numbers
    texts = (strip_citations(answer[start:end]) for start, end in spans)
    return [CitedSentence(text, tuple(cited)) for text, cited in zip(texts, numbers, strict=True)]
