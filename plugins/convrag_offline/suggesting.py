"""Questions to ask next, without a language model: of the titles of passages that the answer does not cite."""

from __future__ import annotations

import re
from collections.abc import Sequence

from convrag_offline.document_frequencies import DocumentFrequencies

_ASKS = re.compile(r"[?？؟][\s\"'”’»)]*$")
"""The end of a title that is a question itself."""

_DOTTED = re.compile(r"\w\.\w+\.$")
"""The end of a title whose last period belongs to an abbreviation: "U.S."."""


def suggest(titles: Sequence[str], count: int, frequencies: DocumentFrequencies) -> str:
    """Task "suggest" without a language model: asks about each title, a line each, or what it asks itself.

    Leave > Sick leave    -> What about Sick leave?
    What do you want?     -> What do you want?
    Before you begin ...  -> What about Before you begin?
    """
    questions = dict.fromkeys(filter(None, map(_ask_about, titles)))
    return "\n".join(list(questions)[:count])


def _ask_about(title: str) -> str:
    """A question about a title, of a path of headings about the last one; empty where it has no letter or digit."""
    subject = " ".join(title.rpartition(" > ")[2].split())
    if not any(map(str.isalnum, subject)):
        return ""
    if _ASKS.search(subject):
        return subject
    return f"What about {subject if _DOTTED.search(subject) else subject.rstrip(' .:;,!…。！：；')}?"
