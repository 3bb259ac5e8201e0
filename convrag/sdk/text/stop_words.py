"""Words that do not tell what a text is about, by language; stop_words.txt lists them."""

from functools import cache
from pathlib import Path


def read_lists(path: Path) -> dict[str, frozenset[str]]:
    """Read lists of words: name -> words. A name is a line, and a blank line ends a list; the first
    one explains.
    """
    _, *blocks = path.read_text(encoding="utf-8").split("\n\n")
    return {
        name: frozenset(words.split())
        for name, _, words in (block.partition("\n") for block in blocks)
    }


WORDS_BY_LANGUAGE = read_lists(Path(__file__).with_name("stop_words.txt"))

_SUBJECTS = "he how i it she that there they we what when where who why you"

_CONTRACTIONS = frozenset(
    f"{word}'{end}" for word in _SUBJECTS.split() for end in ("d", "ll", "m", "re", "s", "ve")
)

ANAPHORS = WORDS_BY_LANGUAGE.pop("english pronouns")
"""Words that refer back to something said before."""

WORDS_BY_LANGUAGE["english"] |= ANAPHORS | _CONTRACTIONS

STOP_WORDS = WORDS_BY_LANGUAGE["english"] | WORDS_BY_LANGUAGE.pop("english chats")
"""Words that do not tell what a text is about, those of chats included."""

GRAMMAR_WORDS = WORDS_BY_LANGUAGE.pop("english grammar")
"""Words of grammar alone: the longer of bm25s' two lists of English stop words."""

LUCENE_WORDS = WORDS_BY_LANGUAGE.pop("english lucene")
"""The stop words of Lucene's English analyzer."""

LANGUAGES = tuple(WORDS_BY_LANGUAGE)
"""The languages whose stop words are known; English first."""

UNSPACED_WORDS = frozenset[str]().union(
    *(WORDS_BY_LANGUAGE[name] for name in ("chinese", "japanese", "korean", "thai"))
)


@cache
def list_stop_words(language: str) -> frozenset[str]:
    """The words of a language that do not tell what a text is about."""
    return (
        STOP_WORDS
        if language == "english"
        else WORDS_BY_LANGUAGE.get(language, frozenset()) | UNSPACED_WORDS
    )


def is_content_word(word: str, language: str = "english") -> bool:
    """Whether a word is no stop word."""
    return word.lower().replace("’", "'") not in list_stop_words(language)


def is_stop_word(word: str) -> bool:
    """Whether a word is an English stop word, in capitals or not, with either apostrophe."""
    return not is_content_word(word)
