"""Texts of several utterances, each with MTRAG's prefix: `|user|: `."""

import re

USER = "|user|: "
"""The prefix of each of the user's utterances."""

_USER = re.compile(r"^\|user\|:[ \t]?", re.MULTILINE)


def split_utterances(text: str) -> list[str]:
    """Split a text into utterances, oldest first; a text without a prefix is one utterance."""
    before, *utterances = [part.rstrip("\r\n") for part in _USER.split(text)]
    return utterances or [before]


def get_last_utterance(text: str) -> str:
    """Return the newest utterance of a text, without white space around it."""
    return split_utterances(text)[-1].strip()
