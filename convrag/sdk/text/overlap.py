"""Measures the overlap of a text with a query: the share of its words, rare ones first.

Each content word of a query weighs its inverse document frequency (idf) in the corpus, so that
rare words count more. A text covers a share of the query: the weight of the words that it has.
"""

from collections.abc import Collection, Mapping, Set

from convrag.sdk.search.frequencies import DocumentFrequencies
from convrag.sdk.text.analysis import (
    UNSPACED,
    find_stems,
    split_compounds,
    tell_asked_language,
    tell_language,
    weigh_content_words,
)

_COMPOUNDING = ("danish", "dutch", "finnish", "german", "hungarian", "norwegian", "swedish")
"""Languages that write compounds as one word."""
_LEAST_PART = 5
"""Letters that a part of a compound has at least: "Urlaub" in "Urlaubstage"."""


def weigh_query(query: str, frequencies: DocumentFrequencies) -> dict[str, float]:
    """Weigh the content words of a query: stem -> idf.

    A word that no passage has weighs as much as the rarest one, since passages without it lack a
    part of what is asked.
    """
    language = tell_asked_language(query, frequencies.counts)
    stems = weigh_content_words(query, language)
    counted = _drop_pieces_across_words(stems, frequencies.counts)
    idf = frequencies.weigh_question(counted)
    return {stem: idf[stem] * stems[stem] for stem in idf}


def compute_share(text: str, weights: Mapping[str, float], language: str = "") -> float:
    """Compute the share of a query's weight that a text covers, 0 to 1.

    Args:
        text: a sentence or a passage.
        weights: stem -> weight of the query's words.
        language: of the text; without one, it is detected.
    """
    return sum_share(find_shared_stems(text, weights, language), weights)


def sum_share(stems: Set[str], weights: Mapping[str, float]) -> float:
    """Add up the weights of stems, as a share of all weights; 0 for a query without words."""
    total = sum(weights.values())
    if not total:
        return 0.0
    return sum(weights[stem] for stem in sorted(stems & weights.keys())) / total


def find_shared_stems(
    text: str, weights: Mapping[str, float], language: str = ""
) -> frozenset[str]:
    """Find the stems of a query that a text has.

    A part of a compound counts: "art" in "state-of-the-art". In languages that write compounds as
    one word, so does the first or last part of one: "Urlaub" and "Urlaubstage" match.

    Args:
        text: a sentence or a passage.
        weights: the stems are its keys.
        language: of the text; without one, it is detected.
    """
    language = language or tell_language(text)
    stems = find_stems(text, language=language)
    stems |= find_stems(split_compounds(text), language=language)
    shared = stems & weights.keys()
    for stem in weights.keys() - shared:
        is_character = len(stem) == 1 and stem >= UNSPACED and stem in text
        if is_character or (language in _COMPOUNDING and _is_part(stem, stems)):
            shared |= {stem}
    return frozenset(shared)


def _is_part(stem: str, others: Set[str]) -> bool:
    """Whether a stem is the beginning or the end of one of the others, or one of them is its."""
    for other in others:
        shorter, longer = sorted((stem, other), key=len)
        if len(shorter) >= _LEAST_PART and (longer.startswith(shorter) or longer.endswith(shorter)):
            return True
    return False


def _drop_pieces_across_words(stems: Collection[str], known: Mapping[str, int]) -> set[str]:
    """Drop pieces of two characters that lie across two words ("茶用" in "绿茶用").

    In scripts without spaces, texts are split into overlapping pieces. One that no passage has is
    dropped if it begins where a known piece ends, or ends where one begins.
    """
    pieces = {stem for stem in stems if len(stem) == 2 and stem[0] >= UNSPACED}
    known_pieces = pieces & known.keys()
    starts = {piece[0] for piece in known_pieces}
    ends = {piece[1] for piece in known_pieces}
    across = {piece for piece in pieces - known_pieces if piece[0] in ends or piece[1] in starts}
    return set(stems) - across
