"""The words of texts: one analysis for all that searches for words, compares or counts them.

An `Analysis` says how texts become the terms of an index: how they are split, what is left out, and
the stems. The language of a text is told by the words that only join or ask (words.txt has them),
or by its script.
"""

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from convrag.api.errors import UnknownName

LIBRARIES = ("PyStemmer", "chardet")
"""Their versions are part of the fingerprints of stages that use this module."""


def read_lists(path: Path) -> dict[str, frozenset[str]]:
    """Read lists of words: name -> words. A name is a line, and a blank line ends a list; the first
    one explains.
    """
    _, *blocks = path.read_text(encoding="utf-8").split("\n\n")
    return {
        name: frozenset(words.split())
        for name, _, words in (block.partition("\n") for block in blocks)
    }


_LISTS = read_lists(Path(__file__).with_suffix(".txt"))
_SUBJECTS = "he how i it she that there they we what when where who why you"
_CONTRACTIONS = frozenset(
    f"{word}'{end}" for word in _SUBJECTS.split() for end in ("d", "ll", "m", "re", "s", "ve")
)

ANAPHORS = _LISTS.pop("english pronouns")
"""Words that refer back to something said before."""

_LISTS["english"] |= ANAPHORS | _CONTRACTIONS

STOP_WORDS = _LISTS["english"] | _LISTS.pop("english chats")
"""Words that do not tell what a text is about, those of chats included."""

TALK = _LISTS.pop("english talk")
"""Words with which people talk about what they ask, and that no passage need have."""

GRAMMAR_WORDS = _LISTS.pop("english grammar")
"""Words of grammar alone: the longer of bm25s' two lists of English stop words."""

LUCENE_WORDS = _LISTS.pop("english lucene")
"""The stop words of Lucene's English analyzer."""

SIZES = dict(pair.split(":") for pair in sorted(_LISTS.pop("english sizes")))
"""Adjectives that ask for a number after "how", and the noun that texts have instead, if any."""

HOW = re.compile(rf"\bhow ({'|'.join(SIZES)})\b", re.IGNORECASE)
"""Asks for a number: "how far" is asked of a distance, and texts that have it rarely say "far"."""

LANGUAGES = tuple(_LISTS)
"""The languages whose stop words are known; English first."""

_JOINED = re.compile(r"(?<=\w)[-.,](?=\w)")

_thread = threading.local()
"""Holds the stemmers of each thread, since they are not thread-safe."""


class Word(NamedTuple):
    """A word of a text.

    Args:
        text: as it stands there.
        stem: of the word in lower case.
    """

    text: str
    stem: str


def split_compounds(text: str) -> str:
    """A text in which each part of a compound or a number is a word: "state of the art" for
    "state-of-the-art".
    """
    return _JOINED.sub(" ", text)


@lru_cache(2048)
def split_words(text: str) -> tuple[str, ...]:
    """All words of a text, in order, in lower case, with plain apostrophes; 384,400 and Jean-Paul
    are one word each.
    """
    return tuple(word.lower() for word in _find_whole_words(text))


def find_words(text: str, language: str = "") -> Iterator[Word]:
    """All words of a text, in order; a compound is one word. Without a language, it is told by the
    text.
    """
    language = language or tell_language(text)
    words = ((word, _stem(word.lower(), language)) for word in _find_whole_words(text))
    return (Word(word, stem) for word, stem in words if stem)


def find_content_words(text: str, language: str = "") -> list[Word]:
    """The words of a text that tell what it is about, in order: those of `find_words` that are no
    stop words.
    """
    language = language or tell_language(text)
    return [word for word in find_words(text, language) if is_content_word(word.text, language)]


def weigh_content_words(text: str, language: str = "") -> dict[str, float]:
    """Weigh the stems of a question's content words, as a search for them does: see
    `Analysis.weigh`.
    """
    language = language or tell_language(text)
    analysis = Analysis("auto", (language,), _list_stop_words(language))
    weights: dict[str, float] = {}
    for stem, weight in analysis.weigh(text):
        weights[stem] = max(weight, weights.get(stem, 0.0))
    return weights


@lru_cache(2048)
def stem_content_words(
    text: str, stop_words: frozenset[str] = STOP_WORDS, language: str = ""
) -> tuple[str, ...]:
    """The stems of a text's content words, in order and with repetitions; a compound's parts follow
    its own.

    Args:
        text: of any language.
        stop_words: the words to leave out. In the place of the default, which is of English, stand
            those of the language.
        language: of the text; without one, it is told by the text.
    """
    language = language or tell_language(text)
    left_out = _list_stop_words(language) if stop_words is STOP_WORDS else stop_words
    return tuple(Analysis("auto", (language,), left_out).split(text))


def find_stems(
    text: str, stop_words: frozenset[str] = STOP_WORDS, language: str = ""
) -> frozenset[str]:
    """The different stems of a text's content words; see `stem_content_words`."""
    return frozenset(stem_content_words(text, stop_words, language))


def is_content_word(word: str, language: str = "english") -> bool:
    """Whether a word is no stop word."""
    return word.lower().replace("’", "'") not in _list_stop_words(language)


def is_stop_word(word: str) -> bool:
    """Whether a word is an English stop word, in capitals or not, with either apostrophe."""
    return not is_content_word(word)


@lru_cache(2048)
def tell_language(text: str) -> str:
    """Tell the language of a text by its stop words or its script; "english" where they leave a
    doubt.
    """
    return _tell_language(_tokenize(text), LANGUAGES, "english")


def tell_asked_language(question: str, known: Container[str]) -> str:
    """Tell the language of a question; a short one says little: it is that of most stems that a
    corpus knows.
    """
    told = tell_language(question)
    words = [word.text.lower() for word in find_content_words(question, told)]
    return max(
        (told, *LANGUAGES),
        key=lambda language: sum(stem in known for stem in stem_words(words, language)),
    )


@cache
def _list_stop_words(language: str) -> frozenset[str]:
    """The words of a language that do not tell what a text is about."""
    return (
        STOP_WORDS if language == "english" else _LISTS.get(language, frozenset()) | _UNSPACED_WORDS
    )


def _find_whole_words(text: str) -> Iterator[str]:
    return (word for token in _TOKEN.findall(_normalise(text)) for word in _WORDS.findall(token))


def stem_words(words: Sequence[str], language: str = "english") -> list[str]:
    """Stem words: "whistles" and "whistling" both become "whistl".

    Uses a Snowball stemmer (Porter 2 for English) of PyStemmer, which is imported at the first
    call. Thread-safe.

    Args:
        words: n words in lower case; the stemmer does not know suffixes in capitals. Numbers and
            words in other scripts do not change.
        language: their language; words of one that Snowball has no stemmer for stay as they are.

    Returns:
        n stems, in the order of the words. Stems are for comparison and often are no words.
    """
    stemmer = _get_stemmer(language)
    return list(words) if stemmer is None else stemmer.stemWords(words)


def _get_stemmer(language: str) -> Any:
    """The stemmer of a language for this thread; None where Snowball has none."""
    stemmers = _thread.__dict__
    if language not in stemmers:
        import Stemmer

        stemmers[language] = (
            Stemmer.Stemmer(language, 0) if language in Stemmer.algorithms() else None
        )
    return stemmers[language]


@lru_cache(16_384)
def _stem(word: str, language: str) -> str:
    """The stem of a word in lower case, without what is left of contractions; empty where that is
    all of it.
    """
    return stem_words(["'".join(_drop_rests(word)).replace(",", "")], language)[0]


_MARKS = r"\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Combining marks, and scripts whose vowels are such: to Python they are no part of a word."""
_PLAIN = re.compile(r"\b\w\w+\b")
_BREAKS = r"\s;:!?¿¡()\[\]{}\"`/\\|*=<>~^“”„«»‹›…–—·•、。，！？：；（）「」『』【】《》〈〉・،؛؟।"
# Found by what stands between tokens: faster than by what is in them, which _WORDS then tells of
# each token once.
_TOKEN = re.compile(rf"\.?[^{_BREAKS}.,]+(?:[.,][^{_BREAKS}.,]+)*")
_WORDS = re.compile(
    rf"(?:(?<!\S)\.(?=[^\W\d])|'(?=(?:s|ll|re|ve|d|m|t)(?![\w'])))?[\w{_MARKS}]+"
    rf"(?:(?:[-.'&]|,(?=\d\d\d(?!\d)))[\w{_MARKS}]+)*(?:\+\+|#(?!\w))?"
)
_SIGNS = re.compile(r"[-.&_+#]+")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u3400-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff]+"
)
UNSPACED = "\u0e00"
"""From this character on, scripts have no spaces between words, and a word is a piece of two or
three characters.
"""
_PAIRED = "\u2e80"
"""From this character on, words have about two characters; the scripts before are alphabets."""
_RESTS = frozenset(("ll", "re", "ve", "qu"))
_SCRIPTS = {
    "CYRILLIC": "russian",
    "DEVANAGARI": "hindi",
    "CJK": "chinese",
    "HIRAGANA": "japanese",
    "KATAKANA": "japanese",
    "HANGUL": "korean",
}
_KNOWN = 1 << 20
_ENOUGH = 20_000
"""Characters by which chardet knows a language."""
_LEAST_TELLING = 0.1
"""The least share of telling words in the texts of a language whose stop words are known; running
text has .3.
"""
_CODES = frozenset(
    [
        "ar",
        "ca",
        "cs",
        "da",
        "de",
        "el",
        "en",
        "es",
        "fa",
        "fi",
        "fr",
        "hi",
        "hu",
        "id",
        "it",
        "ja",
        "ko",
        "nl",
        "no",
        "pl",
        "pt",
        "ro",
        "ru",
        "sv",
        "th",
        "tr",
        "zh",
    ]
)

Form = Literal["auto", "plain"]
"""How texts are split into words, see `Analysis`."""
Aid = Literal["auto", "english", "none"]
"""Whose stop words, or whose stems."""


@dataclass(frozen=True)
class Analysis:
    """How texts become the terms of an index: those of passages and of questions alike.

    "auto": words of any script, single letters and digits among them. A compound ("F-16", "3.5") is
    a term beside its parts; signs that belong to a word ("C++", ".NET") stay. What is left of a
    contraction is none. Languages without spaces have a term for each two characters. "plain": runs
    of two letters or digits, as scikit-learn and bm25s split.

    Args:
        form: "auto" or "plain".
        languages: those of the texts, the most frequent one first; they give stop words and
            stemmers.
        stop_words: "auto" leaves out the words that only join or ask, in the language of each text;
            "english" Lucene's 33; "none" keeps all. Or the words themselves.
        stemmer: "auto" has a stem for each word, by Snowball's stemmers of all the languages in
            turn, so that a word has the same one everywhere; "english" by that of English; "none"
            keeps words as they are.
    """

    form: Form = "auto"
    languages: tuple[str, ...] = ("english",)
    stop_words: Aid | frozenset[str] = "auto"
    stemmer: Aid = "auto"

    @classmethod
    def choose(
        cls, form: Form, language: str = "auto", stop_words: Aid = "auto", stemmer: Aid = "auto"
    ) -> Self:
        """Make one of options: "plain" has Lucene's stop words and no stems, where these are
        "auto".

        Args:
            form: see the class.
            language: of the texts; with "auto", `find` is still to find it.
            stop_words: see the class.
            stemmer: see the class.

        Raises:
            UnknownName: neither stop words nor a stemmer are known for the language.
        """
        if form == "plain":
            stop_words = "english" if stop_words == "auto" else stop_words
            stemmer = "none" if stemmer == "auto" else stemmer
        if language != "auto" and not is_known(language):
            raise UnknownName("language", language, ("auto", *LANGUAGES))
        return cls(form, () if language == "auto" else (language,), stop_words, stemmer)

    def find(self, texts: Iterable[str]) -> Self:
        """Find the languages in a sample of the texts, where they are not given and matter."""
        return (
            self
            if self.languages or self.form == "plain"
            else replace(self, languages=find_languages(texts))
        )

    def split(self, text: str, *, question: bool = False) -> list[str]:
        """Split a text into terms, in order and with repetitions; see `tokenize`."""
        return [
            *chain.from_iterable(
                map(_get_terms(self).__getitem__, self.tokenize(text, question=question))
            )
        ]

    def weigh(self, question: str) -> list[tuple[str, float]]:
        """Split a question into weighted terms.

        The parts of a compound count half. So does "far" after "how", and so does "distance",
        which the question then asks for.
        """
        tokens = self.tokenize(question, question=True)
        adjectives = set()
        if self.form == "auto":
            adjectives = {found.lower() for found in HOW.findall(question)}
        terms_of = _get_terms(self)
        weighted = []
        for token in tokens:
            for place, term in enumerate(terms_of[token]):
                weighted.append((term, 0.5 if place or token in adjectives else 1.0))
            if token in adjectives and SIZES[token]:
                weighted += [(term, 0.5) for term in terms_of[SIZES[token]]]
        return weighted

    def tokenize(self, text: str, *, question: bool = False) -> list[str]:
        """Split a text into tokens, whose terms `find_terms` finds.

        Args:
            text: of a passage, or a question.
            question: whether it may be in another language than the passages.
        """
        tokens = _PLAIN.findall(text.lower()) if self.form == "plain" else _tokenize(text)
        if self.stop_words == "auto" and (question or len(self.languages) > 1):
            among = LANGUAGES if question else self.languages
            stop_words = _LISTS.get(_tell_language(tokens, among, self.languages[0]), ())
            tokens = [token for token in tokens if token not in stop_words]
        return tokens

    def find_terms(self, tokens: Iterable[str]) -> list[tuple[str, ...]]:
        """Find the terms of each token: none for a stop word, several for a compound."""
        stop_words, plain = self._list_stop_words(), self.form == "plain"
        divided = (
            (token,) if plain or token.isalnum() else _divide(token, stop_words) for token in tokens
        )
        words = [tuple([word for word in parts if word not in stop_words]) for parts in divided]
        stems = distinct = [*dict.fromkeys(chain.from_iterable(words))]
        for language in {"auto": self.languages, "english": ("english",), "none": ()}[self.stemmer]:
            stems = stem_words(stems, language)
        stem = dict(zip(distinct, stems, strict=True))
        return [tuple([stem[word] for word in parts]) for parts in words]

    def _list_stop_words(self) -> frozenset[str]:
        """The stop words; those that all the languages share, where each text is left without its
        own.
        """
        if isinstance(self.stop_words, frozenset):
            return self.stop_words
        if self.stop_words != "auto":
            return LUCENE_WORDS if self.stop_words == "english" else frozenset()
        known = (_LISTS.get(language, frozenset[str]()) for language in self.languages)
        return _UNSPACED_WORDS.union(frozenset.intersection(*known))


PLAIN = Analysis.choose("plain")
"""The words of most published figures: two letters at least, without Lucene's stop words, not
stemmed.
"""


def _tokenize(text: str) -> list[str]:
    return _TOKEN.findall(_normalise(text).lower())


def _normalise(text: str) -> str:
    """A text in Unicode's NFKC, with plain apostrophes, and the pieces of runs without spaces
    apart.
    """
    if text.isascii():
        return text
    return _UNSPACED.sub(_space_out, unicodedata.normalize("NFKC", text).replace("’", "'"))


def _space_out(run: re.Match[str]) -> str:
    """The overlapping pieces of a run of characters, with spaces around them."""
    size = 2 if run[0] >= _PAIRED else 3
    parts = _JOINING.split(run[0])  # between the words that only join or ask, which stay
    pieces = (
        part[start : start + size]
        for part in parts
        for start in range(max(1, len(part) - size + 1))
    )
    return f" {' '.join(pieces)} "


class _Terms(dict[str, tuple[str, ...]]):
    """Token -> its terms; each is found once."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis

    def __missing__(self, token: str) -> tuple[str, ...]:
        if len(self) >= _KNOWN:
            self.clear()
        return self.setdefault(token, *self.analysis.find_terms([token]))


_JOINING = re.compile(f"({'|'.join(sorted(_LISTS['chinese'], key=len, reverse=True))})")
_UNSPACED_WORDS = frozenset[str]().union(
    *(_LISTS[name] for name in ("chinese", "japanese", "korean", "thai"))
)


@cache
def _get_terms(analysis: Analysis) -> _Terms:
    return _Terms(analysis)


def _divide(token: str, stop_words: frozenset[str]) -> Iterator[str]:
    """Yield the words of a token: each as it stands, and the parts of a compound."""
    for word in _WORDS.findall(token):
        for piece in _drop_rests(word) if word not in stop_words else ():
            whole = piece.replace(",", "").strip("_")
            parts = [part for part in _SIGNS.split(whole) if part]
            if whole in parts:
                yield whole
            elif parts:
                yield from (whole, *(part for part in parts if len(part) > 1 or part.isdecimal()))


def _drop_rests(word: str) -> list[str]:
    """The parts of a word between its apostrophes, without what is left of contractions."""
    pieces = word.split("'")
    return (
        pieces
        if len(pieces) < 2
        else [piece for piece in pieces if len(piece) > 1 and piece not in _RESTS]
    )


def _tell_language(tokens: Iterable[str], among: Sequence[str], default: str) -> str:
    """See `tell_language`; the default is the language where there is a doubt."""
    counts = _count_languages(tokens, among)
    (best, most), (_, second) = [*counts.most_common(2), ("", 0), ("", 0)][:2]
    return best if most > max(second, counts[default] + 1) else default


def _count_languages(tokens: Iterable[str], among: Sequence[str]) -> Counter[str]:
    """Count the different words of a text that speak for each language; those of its own script
    count twice.
    """
    counts: Counter[str] = Counter()
    tokens = {*tokens}
    for token in {*tokens, *(token[: token.index("'") + 1] for token in tokens if "'" in token)}:
        if owners := _find_owners().get(token):
            counts.update(owner for owner in owners if owner in among)
        elif (first := min(filter(str.isalpha, token), default="")) > "\u02ff":
            script = unicodedata.name(first, "").partition(" ")[0]
            counts[_SCRIPTS.get(script, script.lower())] += 2 * (script != "LATIN")
    return counts


@cache
def _find_owners() -> dict[str, list[str]]:
    owners: dict[str, list[str]] = {}
    for language, words in _LISTS.items():
        for word in words:
            owners.setdefault(word, []).append(language)
    return owners


def is_known(language: str) -> bool:
    """Whether there are stop words or stems for a language."""
    return language in LANGUAGES or _get_stemmer(language) is not None


def find_languages(texts: Iterable[str]) -> tuple[str, ...]:
    """Find the languages of texts, the most frequent one first: those that a tenth of the telling
    words speak for.

    Returns:
        Names as those of Snowball's stemmers ("german"). Of other languages it is their code
        ("vi"), as chardet knows it by its letters, or the name of their script ("hebrew").
    """
    counts, words, sample = (
        Counter({"english": 1}),
        1,
        "",
    )  # English where nothing speaks for another language
    for text in texts:
        tokens = {*_tokenize(text)}
        (best, most), (_, second) = [
            *_count_languages(tokens, LANGUAGES).most_common(2),
            ("", 0),
            ("", 0),
        ][:2]
        counts[best] += most * (most > second)
        words += len(tokens)
        sample += f"{text}\n" if len(sample) < _ENOUGH else ""
    if counts.total() < _LEAST_TELLING * words:
        from chardet import detect

        if (code := detect(sample.encode("utf-8", "replace"))["language"]) and code not in _CODES:
            return (code,)
    return tuple(
        language for language, count in counts.most_common() if count >= 0.1 * counts.total()
    )
