"""How far passages support the sentences of an answer, by the words in common: no model is asked.

The support of a sentence is the largest share of its content words (as stems, and as pairs that
stand side by side) that some WINDOW sentences in a row of a passage have. People's marks of
faithfulness follow it as closely as a language model's: benchmarks/quality/trust.py compares them,
and says how the three numbers were chosen.
"""

from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

from convrag.api.records import TurnRecord
from convrag.sdk.text.analysis import (
    find_stems,
    stem_content_words,
    tell_language,
)
from convrag.sdk.text.citations import blank_citations
from convrag.sdk.text.sentences import find_sentence_spans

WINDOW = 3
"""Sentences in a row of a passage that a sentence of an answer is compared with."""
PAIRS = 0.25
"""What the pairs of words weigh; the words weigh the rest."""
SUPPORTED = 0.4
"""The support from which on a sentence is supported. The words of the question do not count in it:
they say nothing.
"""


class SentenceSupport(NamedTuple):
    """A sentence of an answer.

    Args:
        start: of the sentence, in characters of the answer.
        end: the character after its last one.
        words: how many content words it has.
        support: from 0 to 1.
        supported: whether what it says beside the words of the question is supported.
    """

    start: int
    end: int
    words: int
    support: float
    supported: bool


def judge_sentences(
    answer: str, passages: Sequence[str], question: str = ""
) -> list[SentenceSupport]:
    """Judge the sentences of an answer that have content words, in order.

    Args:
        answer: its citations (`[1]`) are no words.
        passages: with their titles.
        question: that was answered.

    Example:
        >>> passages = ["Tea is made of leaves. It is drunk hot."]
        >>> [each.supported for each in judge_sentences("Tea is made of leaves. Coffee needs beans.", passages)]
        [True, False]
    """
    plain = blank_citations(answer)
    language = tell_language(plain)
    asked = frozenset(stem_content_words(question, language=language))
    windows = [*chain.from_iterable(map(split_windows, passages))]
    found: list[SentenceSupport] = []
    for start, end in find_sentence_spans(plain):
        if words := stem_content_words(plain[start:end], language=language):
            new = [word for word in words if word not in asked] or words
            supported = measure_support(words, windows, new) >= SUPPORTED
            found.append(
                SentenceSupport(start, end, len(words), measure_support(words, windows), supported)
            )
    return found


def read_claims(record: TurnRecord) -> str:
    """Read what an answer claims: all but what is said of the parts of a question that were not
    found.
    """
    return record.answer.text.removesuffix(
        record.trace.get("generator", {}).get("decision", {}).get("unfound", "")
    )


def find_unsupported(record: TurnRecord) -> list[tuple[int, int]]:
    """Find the (start, end) of each sentence of a turn's answer that its evidence does not support.

    There is none where no passage was shown, and in an answer that the system calls "unanswerable".
    """
    passages = [item.passage.content or item.text for item in record.evidence.items]
    if not passages or record.trace.get("generator", {}).get("outcome") == "unanswerable":
        return []
    judged = judge_sentences(read_claims(record), passages, record.original_query)
    return [(each.start, each.end) for each in judged if not each.supported]


Window = tuple[Collection[str], Collection[tuple[str, str]]]
"""The stems of some sentences in a row, and the pairs that stand side by side."""


def measure_support(
    words: Sequence[str], windows: Sequence[Window], counted: Sequence[str] = ()
) -> float:
    """Measure how far one of the windows supports a sentence, from 0 to 1.

    Args:
        words: the stems of the sentence's content words, at least one.
        windows: of the passages.
        counted: the words that count; all by default.
    """
    pairs, counted = [*pairwise(words)], counted or words
    best = 0.0
    for stems, known in windows:
        share = sum(word in stems for word in counted) / len(counted)
        if (1 - PAIRS) * share + PAIRS > best:
            paired = sum(pair in known for pair in pairs) / len(pairs) if pairs else share
            best = max(best, (1 - PAIRS) * share + PAIRS * paired)
    return best


@lru_cache(4096)
def split_windows(passage: str) -> tuple[Window, ...]:
    """Split a passage into its windows; a shorter passage is one."""
    language = tell_language(passage)
    spans = find_sentence_spans(passage)
    sentences = [stem_content_words(passage[start:end], language=language) for start, end in spans]
    rows = [
        [*chain(*sentences[place : place + WINDOW])]
        for place in range(max(1, len(sentences) - WINDOW + 1))
    ]
    return tuple((frozenset(row), frozenset(pairwise(row))) for row in rows)


def measure_coverage(answer: str, passages: Sequence[str], question: str) -> float:
    """Measure how much of what the passages say about a question an answer says, from 0 to 1.

    It is the mean share of the content words of a passage's sentence that the answer has; a
    sentence weighs as much as it has of the words of the question. Where none has any, all weigh
    the same.
    """
    said, asked = find_stems(blank_citations(answer)), find_stems(question)
    shares: list[tuple[int, float]] = []
    for passage in passages:
        language = tell_language(passage)
        for start, end in find_sentence_spans(passage):
            if words := find_stems(passage[start:end], language=language):
                shares.append((len(words & asked), len(words & said) / len(words)))
    if not any(weight for weight, _ in shares):
        shares = [(1, share) for _, share in shares]
    whole = sum(weight for weight, _ in shares)
    return sum(weight * share for weight, share in shares) / whole if whole else 0.0
