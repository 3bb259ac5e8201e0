"""What GINGER compares of two texts: stems of content words, and numbers and negations."""

from functools import lru_cache

from convrag.sdk.words import GRAMMAR_WORDS, split_words, stem_content_words

_NEGATIONS = frozenset(("no", "not", "nor", "never", "none", "neither", "nothing", "nobody", "without", "cannot"))
_QUESTION_WORDS = """
also could describe explain find get give help know like may mean might must please say tell want would
"""  # common in questions on any topic, so they do not tell one topic from another
_STOP_WORDS = GRAMMAR_WORDS.union(_QUESTION_WORDS.split())


def stem_content(text: str) -> tuple[str, ...]:
    """The stems of a text's content words, in order; "question" and "document" are content here."""
    return stem_content_words(text, _STOP_WORDS)


@lru_cache(2048)
def find_numbers_and_negations(text: str) -> tuple[str, ...]:
    """The numbers and negations of a text, sorted. Texts that differ in them do not say the same."""
    return tuple(sorted(word for word in split_words(text) if is_number(word) or _is_negation(word)))


def is_number(word: str) -> bool:
    """Whether a word has a digit: 1969, 3.5, 11th."""
    return not word.isalpha() and any(map(str.isdigit, word))


def _is_negation(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't")
