"""MTRAG's mark of who speaks, in files of queries and rewrites: lines that begin with `|user|: `."""

from __future__ import annotations

import re

USER = "|user|: "

_USER = re.compile(r"^\|user\|:[ \t]?", re.MULTILINE)


def utterances(text: str) -> list[str]:
    """What the user says in a text whose lines are marked, oldest first; a text without marks is one utterance."""
    parts = [part.rstrip("\r\n") for part in _USER.split(text)]
    return parts[1:] or parts


def last_utterance(text: str) -> str:
    """The newest of them, without white space around it."""
    return utterances(text)[-1].strip()
