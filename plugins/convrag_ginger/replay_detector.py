"""`detector=replay`: nuggets that were detected before."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from convrag import DataError, Detector, Nugget, Passage
from convrag.sdk.identity import file_hash
from convrag.sdk.lazy import Lazy, collect_problems


class ReplayDetector(Detector):
    """Replay the nuggets of a file that task=detect_nuggets has written.

    A query and a passage that the file lacks are an error, and so is a passage with another text
    than the one in which the nuggets were detected.

    Args:
        path: the file.
    """

    def __init__(self, *, path: Path) -> None:
        from convrag_ginger.nugget_files import read_detected

        self.path = path
        self._detected = Lazy(partial(read_detected, path))

    def check(self) -> Iterable[str]:
        """Check that the file can be read."""
        return collect_problems(self._detected)

    def content_hash(self) -> str:
        """Return a hash of the file."""
        return file_hash(self.path)

    def note(self) -> str:
        """Say where the nuggets are from."""
        return f"The nuggets are replayed from {self.path}; this run detected none."

    def detect(self, query: str, passage: Passage) -> list[Nugget]:
        """Look the nuggets up. Raises DataError."""
        nuggets = self._detected().get((query, passage.id))
        if nuggets is None:
            raise DataError(
                f"there are no nuggets of passage {passage.id!r} for the query {query!r}: detect "
                "them with task=detect_nuggets",
                path=self.path,
            )
        for nugget in nuggets:
            if passage.text[nugget.start : nugget.end] != nugget.text:
                raise DataError(
                    f"passage {passage.id!r} has another text than the one in which its nuggets "
                    "were detected: detect them again with task=detect_nuggets",
                    path=self.path,
                )
        return list(nuggets)
