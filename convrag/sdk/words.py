"""The words of English texts: how a text is split, stop words, and stems."""

import re
import string
import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

LIBRARIES = ("PyStemmer",)
"""Their versions are part of the fingerprints of stages that use this module."""

# Languages that write no spaces between words have a word for each character.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_]+(?:(?:[-'’.]|(?<=\d),(?=\d))[^\W_]+)*")
_JOINED = re.compile(r"(?<=\w)[-.,](?=\w)")

_FUNCTION_WORDS = """
a about above across after again against all almost alone along already also although always am among an and any anybody
anyone anything are aren't around as ask at away back be became because become been before began behind being below
between both but by came can can't cannot come could couldn't did didn't do does doesn't doing don't done down during
each either else enough especially etc even ever every everyone everything few for from further gave get gets getting
give given go goes going gone got had hadn't has hasn't have haven't having hence here how however i if in indeed
instead into is isn't itself just last least less let like made mainly make makes many may maybe me mean means meant
might mine more most much must my myself near need neither never next no nobody none nor not nothing now of off often on
once only onto or ought our ours out over own per perhaps please put quite rather really said same say says see seem
seemed seems several shall should shouldn't since so some someone something sometimes still such take taken than the
then there therefore thing things though through throughout thus to together too toward towards under until up upon us
used using various very via was wasn't way ways we well went were weren't what whatever when where whereas whether which
while who whom whose why will with within without won't would wouldn't yes yet you your yours yourself
"""
_PRONOUNS = (
    "it its it's they them their theirs he him his she her hers this that these those one ones other others another"
)
# Frequent in what users and assistants say to each other, whatever the topic.
_CHAT_WORDS = """
according available based certain consult context currently describe detail details document documents example examples
explain find hello help hi include included includes including info information interesting know mentioned note ok okay
passage passages provide provided provides question questions related sorry speaking specific specifically sure talk
tell thank thanks think understand want wonder
"""
_SUBJECTS = "he how i it she that there they we what when where who why you"
_CONTRACTIONS = frozenset(f"{word}'{end}" for word in _SUBJECTS.split() for end in ("d", "ll", "m", "re", "s", "ve"))

_GRAMMAR_WORDS = """
a about above after again against ain all am an and any are aren aren't as at be because been before being below between
both but by can couldn couldn't d did didn didn't do does doesn doesn't doing don don't down during each few for from
further had hadn hadn't has hasn hasn't have haven haven't having he her here hers herself him himself his how i if in
into is isn isn't it it's its itself just ll m ma me mightn mightn't more most mustn mustn't my myself needn needn't no
nor not now o of off on once only or other our ours ourselves out over own re s same shan shan't she she's should
should've shouldn shouldn't so some such t than that that'll the their theirs them themselves then there these they this
those through to too under until up ve very was wasn wasn't we were weren weren't what when where which while who whom
why will with won won't wouldn wouldn't y you you'd you'll you're you've your yours yourself yourselves
"""

ANAPHORS = frozenset(_PRONOUNS.split())
"""Words that refer back to something said before."""

STOP_WORDS = frozenset(_FUNCTION_WORDS.split()) | ANAPHORS | frozenset(_CHAT_WORDS.split()) | _CONTRACTIONS
"""Words that do not tell what a text is about, those of chats included."""

GRAMMAR_WORDS = frozenset(_GRAMMAR_WORDS.split())
"""Words of grammar alone: the longer of bm25s' two lists of English stop words."""

_CHARACTERS = frozenset(string.ascii_letters + string.digits)

_thread = threading.local()
"""Holds a stemmer for each thread, since stemmers are not thread-safe."""


class Word(NamedTuple):
    """A word of a text.

    Args:
        text: as it stands there.
        stem: of the word in lower case.
    """

    text: str
    stem: str


def split_compounds(text: str) -> str:
    """A text in which each part of a compound or a number is a word: "state of the art" for "state-of-the-art"."""
    return _JOINED.sub(" ", text)


@lru_cache(2048)
def split_words(text: str) -> tuple[str, ...]:
    """All words of a text, in order, in lower case, with plain apostrophes; 384,400 and Jean-Paul are one word each."""
    return tuple(word.lower().replace("’", "'") for word in _WORD.findall(text))


def find_words(text: str) -> Iterator[Word]:
    """All words of a text, in order."""
    return (Word(word, _stem(word.lower())) for word in _WORD.findall(text))


def find_content_words(text: str) -> list[Word]:
    """The words of a text that tell what it is about, in order: no stop words, no single letters and digits."""
    return [word for word in find_words(text) if is_content_word(word.text)]


@lru_cache(2048)
def stem_content_words(text: str, stop_words: frozenset[str] = STOP_WORDS) -> tuple[str, ...]:
    """The stems of a text's content words, in order and with repetitions; words of other scripts stay as they are."""
    content = (word for word in split_words(text) if word not in stop_words and word not in _CHARACTERS)
    return tuple(map(_stem, content))


def find_stems(text: str, stop_words: frozenset[str] = STOP_WORDS) -> frozenset[str]:
    """The different stems of a text's content words."""
    return frozenset(stem_content_words(text, stop_words))


def is_content_word(word: str) -> bool:
    """Whether a word is neither a stop word nor a single letter or digit."""
    return word not in _CHARACTERS and not is_stop_word(word)


def is_stop_word(word: str) -> bool:
    """Whether a word is a stop word, in capitals or not, with either apostrophe."""
    return word.lower().replace("’", "'") in STOP_WORDS


def stem_words(words: Sequence[str]) -> list[str]:
    """Stem words: "whistles" and "whistling" both become "whistl".

    Uses the English Snowball stemmer (Porter 2) of PyStemmer, which is imported at the first call. Thread-safe.

    Args:
        words: n words in lower case; the stemmer does not know suffixes in capitals. Numbers and words in other scripts
            do not change.

    Returns:
        n stems, in the order of the words. Stems are for comparison and often are no words.
    """
    if not hasattr(_thread, "stemmer"):
        import Stemmer

        _thread.stemmer = Stemmer.Stemmer("english")
    stems: list[str] = _thread.stemmer.stemWords(words)
    return stems


@lru_cache(16_384)
def _stem(word: str) -> str:
    """The stem of a word in lower case, without the 's of a genitive."""
    return stem_words([word.replace("’", "'").removesuffix("'s")])[0]
