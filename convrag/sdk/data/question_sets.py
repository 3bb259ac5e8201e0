"""An evaluation set in a folder: conversations, judgements, and the passages they are about.

`task=questions` writes one, `dataset=questions` reads it. Passages are recognised by their text:
one that has another id since its document has changed elsewhere is found again, and one that has
another text is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from convrag.api.errors import DataError
from convrag.api.passages import Passage
from convrag.store.files import write_atomically
from convrag.store.fingerprint import hash_text
from convrag.store.json_text import format_json, parse_json

CONVERSATIONS = "conversations.jsonl"
"""The conversations, as `dataset=jsonl` reads them."""

QRELS = "qrels.tsv"
"""The passages that answer each question: query-id, corpus-id and score between tabs."""

REWRITES = "rewrites.jsonl"
"""Each question as it would be asked without its conversation, as `rewriter=replay` reads them."""

MANIFEST = "questions.json"
"""The file that holds a `QuestionSet`."""


@dataclass(frozen=True)
class QuestionSet:
    """The manifest of a folder of questions.

    Args:
        corpora: domain -> fingerprint of the corpus at the time.
        passages: the judged passages: domain -> id -> hash of the text.
        conversations: id -> domain.
        files: name -> hash of the file as it was written.
    """

    corpora: Mapping[str, str]
    passages: Mapping[str, Mapping[str, str]]
    conversations: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write the manifest."""
        write_atomically(folder / MANIFEST, f"{format_json(asdict(self), indent=2)}\n")

    @classmethod
    def read(cls, folder: Path) -> QuestionSet:
        """Read the manifest. Raises DataError where it is missing or broken."""
        from pydantic import TypeAdapter, ValidationError

        path = folder / MANIFEST
        try:
            return TypeAdapter(cls).validate_python(parse_json(path.read_text(encoding="utf-8")))
        except FileNotFoundError as error:
            message = "this is no folder that task=questions has written: it has no questions.json"
            raise DataError(message, path=folder) from error
        except (OSError, ValueError, ValidationError) as error:
            reason = str(error).splitlines()[0]
            raise DataError(
                f"this file is damaged ({reason}): write the questions again", path=path
            ) from error

    def find_moved(
        self, domain: str, passages: Iterable[Passage]
    ) -> tuple[dict[str, str], list[str]]:
        """Find the judged passages of a domain in its corpus.

        Args:
            domain: one of `passages`.
            passages: the corpus as it is now.

        Returns:
            The id of a judged passage -> its id now, where it has another one; and the ids of
            passages that are gone.
        """
        wanted = self.passages.get(domain, {})
        hashes = set(wanted.values())
        same: set[str] = set()
        places: dict[str, str] = {}
        for passage in passages:
            if (found := hash_text(passage.text).hex()) in hashes:
                places.setdefault(found, passage.id)
                if wanted.get(passage.id) == found:
                    same.add(passage.id)
        moved = {
            name: places[text]
            for name, text in wanted.items()
            if name not in same and text in places
        }
        return moved, [name for name in wanted if name not in same and name not in moved]
