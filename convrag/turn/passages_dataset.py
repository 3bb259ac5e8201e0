"""Passages given as objects, as the corpus of a pipeline (`Pipeline.over`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from convrag.api.errors import ConfigError
from convrag.api.stages import Dataset
from convrag.api.types import Conversation, Passage


class PassagesDataset(Dataset):
    """A corpus in memory, without conversations of its own.

    Args:
        passages: at least one, each with an id of its own and a text.

    Raises:
        ConfigError: there is none, one is no Passage, or two have the same id.
    """

    def __init__(self, passages: Iterable[Passage]) -> None:
        self._passages = tuple(passages)
        known: set[str] = set()
        for number, passage in enumerate(self._passages, start=1):
            if not isinstance(passage, Passage):
                raise ConfigError(f"passage {number} is a {type(passage).__name__}: give convrag.Passage(id, text)")
            for name in ("id", "text", "title", "url"):
                if not isinstance(getattr(passage, name), str):
                    raise ConfigError(f"passage {number}: its {name} is {getattr(passage, name)!r}, which is no text")
            if passage.id in known:
                raise ConfigError(f"passage {number}: its id {passage.id!r} is that of an earlier one")
            known.add(passage.id)
        if not known:
            raise ConfigError("there are no passages to search: give at least one convrag.Passage(id, text)")

    def conversations(self) -> Iterator[Conversation]:
        """Yield nothing: the conversations are those that are held over the passages."""
        return iter(())

    def corpus(self, domain: str) -> Iterator[Passage]:
        """Yield the passages."""
        return iter(self._passages)

    def content_hash(self) -> str:
        """Return a hash of all passages."""
        return self._hash

    def corpus_fingerprint(self, domain: str) -> str:
        """Return a hash of all passages."""
        return self._hash

    @cached_property
    def _hash(self) -> str:
        return super().corpus_fingerprint("default")
