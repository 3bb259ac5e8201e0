"""A text or a document that cannot be read, and why."""

from convrag.sdk.output.printable import make_printable

_LONGEST_REASON = 200


class Unreadable(Exception):
    """A file, or a part of it, that cannot be read.

    A reader that raises it after it has yielded documents has read a part of the file.

    Args:
        reason: "it is encrypted, and needs a password", "line 7: this is not JSON".
    """

    def __init__(self, reason: str) -> None:
        self.reason = shorten_reason(reason)
        super().__init__(self.reason)


def shorten_reason(reason: str) -> str:
    """Put a reason, such as the message of a library, into one line of bounded length."""
    line = " ".join(make_printable(reason[: 10 * _LONGEST_REASON]).split())
    if len(line) <= _LONGEST_REASON:
        return line
    return f"{line[: _LONGEST_REASON - 1]}…"
