"""Support of an answer's sentences by passages, measured by the words in common without a model.

The support of a sentence is the largest share of its content words (as stems, and as pairs of
neighbours) that WINDOW consecutive sentences of a passage have. People's marks of faithfulness
follow it as closely as a language model's: benchmarks/quality/trust.py compares them, and says how
the three numbers were chosen.
"""

from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

from convrag.api.records import TurnRecord
from convrag.sdk.text.analysis import find_stems, stem_content_words, tell_language
from convrag.sdk.text.citations import blank_citations
from convrag.sdk.text.sentences import find_sentence_spans

WINDOW = 3
"""Consecutive sentences of a passage that a sentence of an answer is compared with."""

PAIRS = 0.25
"""Weight of the pairs of words; the words have the rest."""

SUPPORTED = 0.4
"""Least support of a supported sentence, without the words of the question, which say nothing."""


class SentenceSupport(NamedTuple):
    """A sentence of an answer, and its support.

    Args:
        start: of the sentence, in characters of the answer.
        end: the character after its last one.
        words: how many content words it has.
        support: from 0 to 1.
        supported: whether it is supported, apart from the words of the question.
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
        answer: the text; its citations (`[1]`) are not words.
        passages: with their titles.
        question: the question that was answered.

    Example:
        >>> answer = "Tea is made of leaves. Coffee needs beans."
        >>> judged = judge_sentences(answer, ["Tea is made of leaves. It is drunk hot."])
        >>> [each.supported for each in judged]
        [True, False]
    """
    plain = blank_citations(answer)
    language = tell_language(plain)
    asked = frozenset(stem_content_words(question, language=language))
    windows = [*chain.from_iterable(map(split_windows, passages))]
    found: list[SentenceSupport] = []
    for start, end in find_sentence_spans(plain):
        words = stem_content_words(plain[start:end], language=language)
        if not words:
            continue
        new_words = [word for word in words if word not in asked] or words
        support = measure_support(words, windows)
        supported = measure_support(words, windows, new_words) >= SUPPORTED
        found.append(SentenceSupport(start, end, len(words), support, supported))
    return found


def read_claims(record: TurnRecord) -> str:
    """Read the claims of an answer: its text without the note on parts that were not found."""
    decision = record.trace.get("generator", {}).get("decision", {})
    return record.answer.text.removesuffix(decision.get("unfound", ""))


def find_unsupported(record: TurnRecord) -> list[tuple[int, int]]:
    """Find the (start, end) of each sentence of a turn's answer that its evidence does not support.

    Nothing is found where no passage was shown, nor in an answer that the system calls
    "unanswerable".
    """
    passages = [item.all_text for item in record.evidence.items]
    if not passages or record.trace.get("generator", {}).get("outcome") == "unanswerable":
        return []
    judged = judge_sentences(read_claims(record), passages, record.original_query)
    return [(each.start, each.end) for each in judged if not each.supported]


Window = tuple[Collection[str], Collection[tuple[str, str]]]
"""The stems of some consecutive sentences, and the pairs of neighbours among them."""


def measure_support(
    words: Sequence[str], windows: Sequence[Window], counted: Sequence[str] = ()
) -> float:
    """Measure how far one of the windows supports a sentence, from 0 to 1.

    Args:
        words: the stems of the sentence's content words, at least one.
        windows: of the passages.
        counted: the words that count; all by default.
    """
    counted = counted or words
    pairs = list(pairwise(words))
    best = 0.0
    for stems, known_pairs in windows:
        share = sum(word in stems for word in counted) / len(counted)
        most_possible = (1 - PAIRS) * share + PAIRS
        if most_possible <= best:
            continue
        share_of_pairs = share
        if pairs:
            share_of_pairs = sum(pair in known_pairs for pair in pairs) / len(pairs)
        best = max(best, (1 - PAIRS) * share + PAIRS * share_of_pairs)
    return best


@lru_cache(4096)
def split_windows(passage: str) -> tuple[Window, ...]:
    """Split a passage into its windows; a shorter passage is one."""
    language = tell_language(passage)
    spans = find_sentence_spans(passage)
    sentences = [stem_content_words(passage[start:end], language=language) for start, end in spans]
    windows = []
    for first in range(max(1, len(sentences) - WINDOW + 1)):
        stems = list(chain.from_iterable(sentences[first : first + WINDOW]))
        windows.append((frozenset(stems), frozenset(pairwise(stems))))
    return tuple(windows)


def measure_coverage(answer: str, passages: Sequence[str], question: str) -> float:
    """Measure how much of the passages' text about a question an answer has, from 0 to 1.

    It is the mean share of the content words of a passage's sentence that the answer has; the
    weight of a sentence is the number of the question's words in it. Where no sentence has any, all
    have the same weight.
    """
    answered = find_stems(blank_citations(answer))
    asked = find_stems(question)
    shares: list[float] = []
    weights: list[int] = []
    for passage in passages:
        language = tell_language(passage)
        for start, end in find_sentence_spans(passage):
            words = find_stems(passage[start:end], language=language)
            if words:
                shares.append(len(words & answered) / len(words))
                weights.append(len(words & asked))
    if not shares:
        return 0.0
    if not any(weights):
        weights = [1] * len(shares)
    weighted = sum(weight * share for weight, share in zip(weights, shares, strict=True))
    return weighted / sum(weights)
