"""Detects the language of a text, by its stop words or its script."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

from convrag.sdk.text.stems import get_stemmer
from convrag.sdk.text.stop_words import LANGUAGES, WORDS_BY_LANGUAGE
from convrag.sdk.text.tokens import tokenize

_SCRIPTS = {
    "CYRILLIC": "russian",
    "DEVANAGARI": "hindi",
    "CJK": "chinese",
    "HIRAGANA": "japanese",
    "KATAKANA": "japanese",
    "HANGUL": "korean",
}

_SAMPLE_CHARACTERS = 20_000
"""Length of the sample by which chardet detects a language."""

_MIN_RECOGNISED = 0.1
"""Least share of stop words in texts of a language with a stop-word list; running text has .3."""

_CODES = "ar ca cs da de el en es fa fi fr hi hu id it ja ko nl no pl pt ro ru sv th tr zh"
"""Codes of the languages with a stop-word list."""


@lru_cache(2048)
def tell_language(text: str) -> str:
    """Detect the language of a text by its stop words or its script; "english" if in doubt."""
    return tell_language_of_tokens(tokenize(text), LANGUAGES, "english")


def tell_language_of_tokens(tokens: Iterable[str], among: Sequence[str], default: str) -> str:
    """Detect the language of tokens; the default if in doubt.

    Args:
        tokens: of a text.
        among: the languages whose stop words count.
        default: a language; another one needs two more words than it, and more than any third.
    """
    counts = _count_languages(tokens, among)
    best, most, second = _find_two_best(counts)
    return best if most > max(second, counts[default] + 1) else default


def _find_two_best(counts: Counter[str]) -> tuple[str, int, int]:
    """Find the language of most words, their number, and the number of the second language."""
    ranked = counts.most_common(2)
    if not ranked:
        return "", 0, 0
    best, most = ranked[0]
    second = ranked[1][1] if len(ranked) > 1 else 0
    return best, most, second


def _count_languages(tokens: Iterable[str], among: Sequence[str]) -> Counter[str]:
    """Count the different words of a text that speak for each language.

    A stop word speaks for the languages that have it, and so does the "l'" of "l'eau". Any other
    word speaks for the language of its script, twice if that is not the Latin one.
    """
    different = set(tokens)
    elided = {token[: token.index("'") + 1] for token in different if "'" in token}
    counts: Counter[str] = Counter()
    for token in different | elided:
        owners = _find_owners().get(token)
        if owners:
            counts.update(owner for owner in owners if owner in among)
            continue
        script = _find_script(token)
        if script and script != "LATIN":
            counts[_SCRIPTS.get(script, script.lower())] += 2
    return counts


def _find_script(token: str) -> str:
    """Find the script of a token by its lowest letter; empty for plain Latin letters or none."""
    first = min(filter(str.isalpha, token), default="")
    return unicodedata.name(first, "").partition(" ")[0] if first > "\u02ff" else ""


@cache
def _find_owners() -> dict[str, list[str]]:
    """Find the languages that have each stop word."""
    owners: dict[str, list[str]] = {}
    for language, words in WORDS_BY_LANGUAGE.items():
        for word in words:
            owners.setdefault(word, []).append(language)
    return owners


def is_known(language: str) -> bool:
    """Tell whether there are stop words or stems for a language."""
    return language in LANGUAGES or get_stemmer(language) is not None


def find_languages(texts: Iterable[str]) -> tuple[str, ...]:
    """Find the languages of texts, the most frequent one first.

    A language counts if a tenth of the words that speak for any speak for it.

    Returns:
        The names of Snowball's stemmers ("german"). Other languages have their code ("vi"), which
        chardet detects by their letters, or the name of their script ("hebrew").
    """
    counts = Counter({"english": 1})  # English where nothing speaks for another language
    words = 1
    sample = ""
    for text in texts:
        tokens = set(tokenize(text))
        best, most, second = _find_two_best(_count_languages(tokens, LANGUAGES))
        if most > second:
            counts[best] += most
        words += len(tokens)
        if len(sample) < _SAMPLE_CHARACTERS:
            sample += f"{text}\n"
    if counts.total() < _MIN_RECOGNISED * words:
        code = _detect_code(sample)
        if code:
            return (code,)
    least = 0.1 * counts.total()
    return tuple(language for language, count in counts.most_common() if count >= least)


def _detect_code(sample: str) -> str:
    """Detect the code of a language without a stop-word list; empty for any other."""
    from chardet import detect

    code = detect(sample.encode("utf-8", "replace"))["language"]
    return code if code and code not in _CODES.split() else ""
