"""Whether a conversation is in English: these rules would make nonsense of another language."""

from __future__ import annotations

import re

from convrag_resolve.vocabulary import split_words

_WORD = re.compile(r"[^\W\d_]+")

# Frequent words of one language each; those that two languages share tell nothing ("in", "on", "do", "me", "he").
_ENGLISH = split_words(
    "the of and is are was were what how does did with for you this that who when where why which can there"
    " their they it tell about have has would should could my your its from be been to a i not any it's what's"
    " if she him her his more these those will but or by at"
)
_OTHERS = split_words(
    "der die das und ist nicht ein eine wie wo warum wer den dem zu von mit es sie ich le la les des est une"
    " et qui que pourquoi comment où quand il elle dans sur avec el los las y una qué cómo por para dónde"
    " cuándo che di è con perché il lo gli como onde quando não os uma het een van waarom waar och är inte vad"
    " och hur jest nie czy gdzie"
)


def is_english(*texts: str) -> bool:
    """Whether texts are English by their function words; a text without any is, if its letters are Latin."""
    if any(mark in text for text in texts for mark in "¿¡"):
        return False
    words = [word.lower() for text in texts for word in _WORD.findall(text[:2000])]
    if not words:
        return False
    ours = sum(word in _ENGLISH for word in words)
    theirs = sum(word in _OTHERS for word in words)
    foreign = sum(not word.isascii() for word in words)
    return ours >= theirs and foreign <= max(1, 0.2 * len(words)) and (ours > 0 or theirs == 0)
