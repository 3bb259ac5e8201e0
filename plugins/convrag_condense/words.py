"""Words without the punctuation around them: the gate looks for them, and the drift check compares their stems."""

from __future__ import annotations

import re

from convrag.sdk.stemming import stem_words

# Languages that write no spaces between words are compared by the character.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_]+(?:['’.-][^\W_]+)*")
_EDGES = "?!.,;:…\"'`“”‘’«»()[]{}¿¡。、，！？；：「」『』-–—"

_FUNCTION = """
a about above across after again against all almost also although always am among an and any anyone anything are as at
be because been before being below between both but by can could did do does doing down during each either else ever
every everything few for from further get give given gives go had has have having he her here hers herself him himself
his how however i if in indeed instead into is it its itself just last least less let like made make many may me might
more most much must my myself near neither never no nobody none nor not nothing now of off often on once one ones only
or other others ought our ours out over own per perhaps please quite rather really same shall she should since so some
somebody someone something still such than that the their theirs them themselves then there therefore these they thing
things this those though through thus to together too toward towards under unless until up upon us use used using very
via was way ways we well were what whatever when where whereas whether which while who whom whose why will with within
without would yes yet you your yours yourself
"""
_CONVERSATION = """
clarify context currently describe detail details elaborate example examples exactly explain explained information
involve involved involves know mean meaning means mentioned possible provide question refer referring refers regarding
related say said specific specifically tell understand
"""
_FUNCTION_WORDS = frozenset(_FUNCTION.split()) | frozenset(_CONVERSATION.split())


def split_words(text: str) -> list[str]:
    """The words of a text in lower case, in order; a word ends where a letter or digit does."""
    return [match[0].lower().replace("’", "'") for match in _WORD.finditer(text)]


def stem_content_words(text: str) -> list[str]:
    """The different stems of a text's content words, in order of first mention."""
    content = [part for word in split_words(text) for part in _split_compound(word) if part not in _FUNCTION_WORDS]
    return list(dict.fromkeys(stem_words(content)))


def normalise_question(question: str) -> str:
    """A question in lower case, without extra spaces and punctuation around words; "C++" keeps its own."""
    kept = filter(None, (word.strip(_EDGES) for word in question.casefold().split()))
    return " ".join(kept) or question.strip()


def _split_compound(word: str) -> list[str]:
    """The parts of a compound; the end of a genitive or a contraction ("what's", "you're") is dropped."""
    return [part for part in re.split(r"[-.]", word.partition("'")[0]) if part]
