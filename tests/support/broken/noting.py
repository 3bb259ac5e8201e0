"""Notes each broken stage with the check that must find it."""

from typing import Any

BROKEN: list[tuple[str, type, str]] = []
"""Group, class, and the one check that it fails."""


def breaks(check: str) -> Any:
    """Note a class with the check that must find it; its group is told by its sound base."""

    def note(cls: type) -> type:
        base = next(
            (base.__name__ for base in cls.__mro__ if base.__name__.startswith("Sound")),
            "SoundRewriter",
        )
        BROKEN.append((base.removeprefix("Sound").lower(), cls, check))
        return cls

    return note


def ascii_only(text: str) -> str:
    return text.encode("ascii").decode()
