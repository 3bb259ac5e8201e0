"""Takes the question out of what a model replied."""

from __future__ import annotations

import re

_LABEL = re.compile(
    r"""^(?:
        (?:(?:sure|okay|certainly|here\s+is|here['’]s|the|your|rewritten|standalone|stand-alone|self-contained
            |reformulated|rephrased|condensed|revised|final|new|search)[\s,.!]*)*
        (?:question|query|rewrite|output)\s*:\s*
    )+""",
    re.IGNORECASE | re.VERBOSE,
)
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»", "„": "“"}


def clean_reply(reply: str) -> str:
    """The first line that is left without labels ("Standalone question:"), quotes, bold and fences; maybe none."""
    for line in reply.splitlines():
        if line.strip().startswith("```"):
            continue
        text = _unquoted(_LABEL.sub("", line.replace("**", "").strip()))
        if text:
            return text
    return ""


def _unquoted(text: str) -> str:
    """Without the quotation marks around the whole of it; those inside stay."""
    while len(text) > 1 and _QUOTES.get(text[0]) == text[-1] and text[0] not in text[1:-1]:
        text = text[1:-1].strip()
    return text if text.strip("\"'`“”") else ""
