"""The analysis of texts: how they become the words that are searched for, compared and counted.

It stands on `stop_words`, `stems`, `tokens` and `languages`, whose public names it also gives out:
plugins import all of them from here.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain
from typing import Literal, NamedTuple, Self

from convrag.api.errors import UnknownName
from convrag.sdk.text.languages import (
    find_languages as find_languages,
    is_known as is_known,
    tell_language as tell_language,
    tell_language_of_tokens,
)
from convrag.sdk.text.stems import stem_word, stem_words as stem_words
from convrag.sdk.text.stop_words import (
    ANAPHORS as ANAPHORS,
    GRAMMAR_WORDS as GRAMMAR_WORDS,
    LANGUAGES as LANGUAGES,
    LUCENE_WORDS,
    STOP_WORDS as STOP_WORDS,
    UNSPACED_WORDS,
    WORDS_BY_LANGUAGE,
    is_content_word as is_content_word,
    is_stop_word as is_stop_word,
    list_stop_words,
    read_lists as read_lists,
)
from convrag.sdk.text.tokens import (
    PLAIN_TOKEN,
    UNSPACED as UNSPACED,
    count_words as count_words,
    divide,
    find_whole_words,
    split_compounds as split_compounds,
    split_words as split_words,
    take_words as take_words,
    tokenize,
)


class Word(NamedTuple):
    """A word of a text.

    Args:
        text: as it stands there.
        stem: of the word in lower case.
    """

    text: str
    stem: str


def find_words(text: str, language: str = "") -> Iterator[Word]:
    """Yield all words of a text, in order; a compound is one word.

    Without a language, it is detected.
    """
    language = language or tell_language(text)
    for text_of_word in find_whole_words(text):
        found = stem_word(text_of_word.lower(), language)
        if found:
            yield Word(text_of_word, found)


def find_content_words(text: str, language: str = "") -> list[Word]:
    """Find the words of a text that tell what it is about, in order: all but stop words."""
    language = language or tell_language(text)
    return [word for word in find_words(text, language) if is_content_word(word.text, language)]


def weigh_content_words(text: str, language: str = "") -> dict[str, float]:
    """Weigh the stems of a question's content words, as a search for them does: see
    `Analysis.weigh`.
    """
    language = language or tell_language(text)
    analysis = Analysis("auto", (language,), list_stop_words(language))
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
    left_out = list_stop_words(language) if stop_words is STOP_WORDS else stop_words
    return tuple(Analysis("auto", (language,), left_out).split(text))


def find_stems(
    text: str, stop_words: frozenset[str] = STOP_WORDS, language: str = ""
) -> frozenset[str]:
    """The different stems of a text's content words; see `stem_content_words`."""
    return frozenset(stem_content_words(text, stop_words, language))


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


_KNOWN = 1 << 20

Form = Literal["auto", "plain"]
"""How texts are split into words, see `Analysis`."""

Aid = Literal["auto", "english", "none"]
"""The choice of stop words or stems."""


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
        if self.languages or self.form == "plain":
            return self
        return replace(self, languages=find_languages(texts))

    def split(self, text: str, *, question: bool = False) -> list[str]:
        """Split a text into terms, in order and with repetitions; see `tokenize`."""
        terms_of = _get_terms(self)
        tokens = self.tokenize(text, question=question)
        return list(chain.from_iterable(map(terms_of.__getitem__, tokens)))

    def weigh(self, question: str) -> list[tuple[str, float]]:
        """Split a question into weighted terms; the parts of a compound count half."""
        terms_of = _get_terms(self)
        weighted = []
        for token in self.tokenize(question, question=True):
            for place, term in enumerate(terms_of[token]):
                weighted.append((term, 0.5 if place else 1.0))
        return weighted

    def tokenize(self, text: str, *, question: bool = False) -> list[str]:
        """Split a text into tokens, whose terms `find_terms` finds.

        Args:
            text: of a passage, or a question.
            question: whether it may be in another language than the passages.
        """
        tokens = PLAIN_TOKEN.findall(text.lower()) if self.form == "plain" else tokenize(text)
        if self.stop_words == "auto" and (question or len(self.languages) > 1):
            among = LANGUAGES if question else self.languages
            stop_words = WORDS_BY_LANGUAGE.get(
                tell_language_of_tokens(tokens, among, self.languages[0]), ()
            )
            tokens = [token for token in tokens if token not in stop_words]
        return tokens

    def find_terms(self, tokens: Iterable[str]) -> list[tuple[str, ...]]:
        """Find the terms of each token: none for a stop word, several for a compound."""
        stop_words, plain = self._list_stop_words(), self.form == "plain"
        divided = (
            (token,) if plain or token.isalnum() else divide(token, stop_words) for token in tokens
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
        known = (WORDS_BY_LANGUAGE.get(language, frozenset[str]()) for language in self.languages)
        return UNSPACED_WORDS.union(frozenset.intersection(*known))


PLAIN = Analysis.choose("plain")
"""The words of most published figures: two letters at least, without Lucene's stop words, not
stemmed.
"""


class _Terms(dict[str, tuple[str, ...]]):
    """Token -> its terms; each is found once."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis

    def __missing__(self, token: str) -> tuple[str, ...]:
        if len(self) >= _KNOWN:
            self.clear()
        return self.setdefault(token, *self.analysis.find_terms([token]))


@cache
def _get_terms(analysis: Analysis) -> _Terms:
    return _Terms(analysis)
