"""The command that goes on with a conversation, as it can be pasted into a shell."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

_PLAIN = re.compile(r"(?!(?:true|false|null|nan|inf|infinity)$)[a-z_][\w-]*|\d{8}-\d{6}-[0-9a-f]{4}", re.I | re.A)
"""Names that Hydra reads as texts."""


def format_resume_command(typed: Sequence[str], arguments: Sequence[str], conversation_id: str) -> str:
    """The command that was typed, with the conversation to go on with.

        python -m convrag task=chat rewriter=mmr -> python -m convrag task=chat rewriter=mmr task.conversation=moon

    No secret stands in it: a command in which one stands is refused before it begins.

    Args:
        typed: as the process was started (`sys.orig_argv`).
        arguments: what convrag makes of its arguments, for a process that was started in another way.
        conversation_id: any text.
    """
    launcher, given = _split_command(typed) or (["python", "-m", "convrag"], list(arguments))
    kept = [each for each in given if not each.lstrip("+").startswith("task.conversation=")]
    return shlex.join([*launcher, *kept, f"task.conversation={_quote_value(conversation_id)}"])


def _split_command(typed: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """What starts convrag, and its arguments; None where something else was started."""
    for place, word in enumerate(typed[1:], start=1):
        if word == "-m" and typed[place + 1 : place + 2] == ["convrag"]:
            return [*typed[: place + 2]], [*typed[place + 2 :]]
        if Path(word).name in ("convrag", "convrag.exe"):
            found = shutil.which("convrag")
            return ["convrag" if found and Path(found) == Path(word) else word], [*typed[place + 1 :]]
        if not word.startswith("-") and typed[place - 1] not in ("-X", "-W"):
            break
    return None


def _quote_value(text: str) -> str:
    """A text as Hydra reads it as that text: a plain name stays, all else stands in quotation marks."""
    if _PLAIN.fullmatch(text):
        return text
    escaped = re.sub(r"(\\*)\$\{", r"\1\1\\${", text)  # backslashes count only before a reference, a quotation mark,
    escaped = re.sub(r"(\\*)'", r"\1\1\\'", escaped)  # and the end
    escaped = re.sub(r"\\+$", r"\g<0>\g<0>", escaped)
    return f"'{escaped}'"
