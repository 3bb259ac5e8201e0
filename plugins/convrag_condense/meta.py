"""Replies about the reply: "Okay, I understand. I'm ready to begin." answers nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

LONGEST = 60
"""Words of a meta-response; what is longer says something."""

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


def is_meta(reply: str) -> bool:
    """Whether a reply only announces that its writer has understood or is ready. A question back alone does not."""
    sentences = _SENTENCE_END.split(reply.strip())
    return _may_be_meta(reply, sentences) and any(_ANNOUNCEMENT.fullmatch(sentence) for sentence in sentences)


class HeldBack:
    """Passes the pieces of a reply on as soon as it can be no meta-response any more.

    Args:
        hear: takes the pieces.
    """

    def __init__(self, hear: Callable[[str], None]) -> None:
        self.hear = hear
        self.text = ""
        self.passing = False

    def __call__(self, piece: str) -> None:
        """The next piece of the reply."""
        if self.passing:
            self.hear(piece)
            return
        self.text += piece
        *whole, _ = _SENTENCE_END.split(self.text.lstrip())
        if not _may_be_meta(self.text, whole):
            self.release()

    def release(self) -> None:
        """Hold nothing back, whatever it is."""
        if not self.passing:
            self.passing = True
            if self.text:
                self.hear(self.text)


def _may_be_meta(reply: str, sentences: list[str]) -> bool:
    if len(reply.split()) > LONGEST or _CITATION.search(reply):
        return False
    return all(_is_talk(sentence) for sentence in sentences if sentence)


def _is_talk(sentence: str) -> bool:
    if _OBJECTION.search(sentence):
        return False
    return bool(_ANNOUNCEMENT.fullmatch(sentence) or _FILLING.fullmatch(sentence))
