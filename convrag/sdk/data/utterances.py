"""Texts in MTRAG's files of queries and rewrites, in which each of the user's utterances begins
with `|user|: `.
"""

import re

USER = "|user|: "
"""What begins each of the user's utterances."""

_USER = re.compile(r"^\|user\|:[ \t]?", re.MULTILINE)


def split_utterances(text: str) -> list[str]:
    """Split a text at the prefixes into utterances, oldest first; a text without a prefix is one
    utterance.
    """
    parts = [part.rstrip("\r\n") for part in _USER.split(text)]
    return parts[1:] or parts


def get_last_utterance(text: str) -> str:
    """Return the newest utterance of a text, without white space around it."""
    return split_utterances(text)[-1].strip()
