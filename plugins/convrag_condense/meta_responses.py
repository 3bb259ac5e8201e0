"""Meta-responses: replies such as "Okay, I understand. I'm ready to begin." that answer nothing."""

import re
from collections.abc import Callable

MAX_WORDS = 60
"""The longest meta-response; a longer reply says something."""

_OPENING = (
    r"(?:(?:ok(?:ay)?|sure|certainly|of course|great|all ?right|alright|absolutely|yes|thanks|thank you|hello|hi)"
    r"[,!. ]*)"
)
_READY = (
    r"(?:i['’]?m|i am)\s+(?:now\s+|all\s+)?(?:ready|prepared|set|here|standing by)\b"
    r"(?:\s+(?:to|for|when|whenever|and|now)\b.*)?"
)
_UNDERSTOOD = (
    r"(?:(?:understood|got it|noted)(?:\b.*)?"
    r"|i(?:['’]ve| have)?\s+(?:understand|understood|noted|read|received|reviewed)"
    r"(?:\s+(?:the|your|my|these|all|everything|what)\b.*)?)"
)
_INVITATION = (
    r"(?:so\s+)?(?:please\s+)?(?:i(?:['’]ll| will)\s+(?:follow|answer|use|cite|base|provide|do|be)\b"
    r"|go ahead\b|(?:feel free to\s+)?(?:provide|share|send|ask|give|tell)\b|let me know\b|let['’]?s (?:begin|start)\b"
    r"|what (?:would|do) you (?:like|want)\b|what(?:['’]s| is) your\b|how (?:can|may) i (?:help|assist)\b).*"
)
_OBJECTION = re.compile(r"\b(?:but|however|not|no|cannot|unfortunately)\b|n['’]t\b", re.IGNORECASE)
_ANNOUNCEMENT = re.compile(rf"{_OPENING}*(?:{_READY}|{_UNDERSTOOD})[.!]*", re.IGNORECASE)
_FILLING = re.compile(rf"{_OPENING}+|{_OPENING}*{_INVITATION}", re.IGNORECASE)
_CITATION = re.compile(r"\[\d+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def is_meta_response(reply: str) -> bool:
    """Whether a reply only announces that the model has understood or is ready; a mere question back does not."""
    sentences = _SENTENCE_END.split(reply.strip())
    return _may_be_meta_response(reply, sentences) and any(_ANNOUNCEMENT.fullmatch(sentence) for sentence in sentences)


class MetaResponseFilter:
    """Holds the pieces of a streamed reply back until it can no longer be a meta-response, then passes them on.

    Args:
        listener: takes the pieces.
    """

    def __init__(self, listener: Callable[[str], None]) -> None:
        self.listener = listener
        self.text = ""
        self.released = False

    def __call__(self, piece: str) -> None:
        """Take the next piece of the reply."""
        if self.released:
            self.listener(piece)
            return
        self.text += piece
        *whole, _ = _SENTENCE_END.split(self.text.lstrip())
        if not _may_be_meta_response(self.text, whole):
            self.release()

    def release(self) -> None:
        """Pass on what was held back, and from now on every piece at once."""
        if not self.released:
            self.released = True
            if self.text:
                self.listener(self.text)


def _may_be_meta_response(reply: str, sentences: list[str]) -> bool:
    if len(reply.split()) > MAX_WORDS or _CITATION.search(reply):
        return False
    return all(_is_filler(sentence) for sentence in sentences if sentence)


def _is_filler(sentence: str) -> bool:
    if _OBJECTION.search(sentence):
        return False
    return bool(_ANNOUNCEMENT.fullmatch(sentence) or _FILLING.fullmatch(sentence))
