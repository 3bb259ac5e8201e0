"""The labels of passages in the messages of a chat: "[1]", or "[Doc_5]:" as RAGBoost writes."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from convrag.sdk.text.citations import find_citations

Labels = Literal["numbers", "documents"]
"""What the labels of passages name: citation numbers, or the ids of documents."""

_DOCUMENT = "Doc_"
_DOCUMENT_LABELS = re.compile(rf"\[({_DOCUMENT}[^\[\]\n]*)\]")
_SEPARATOR = re.compile(r"\s*[,;]\s*")


def format_label(number: int, document: str, labels: Labels) -> str:
    """Format the label before a passage: "[1]", or "[Doc_5]:"."""
    return f"[{_DOCUMENT}{document}]:" if labels == "documents" else f"[{number}]"


def read_document_labels(text: str, numbers: Mapping[str, int]) -> str:
    """Replace the labels of documents in a reply by numbers: "[Doc_5]" by "[1]".

    Args:
        text: a reply.
        numbers: document id -> number. Another id becomes a number that no document has.
    """
    unknown = max(numbers.values(), default=0) + 1

    def read(match: re.Match[str]) -> str:
        names = [match[1].removeprefix(_DOCUMENT).strip()]  # an id may contain a comma
        if names[0] not in numbers:
            names = [name.removeprefix(_DOCUMENT) for name in _SEPARATOR.split(match[1].strip())]
        found = [str(numbers.get(name, unknown)) for name in names]
        return f"[{', '.join(found)}]"

    return _DOCUMENT_LABELS.sub(read, text)


def write_document_labels(text: str, documents: Mapping[int, str]) -> str:
    """Replace the citation numbers of an answer by the labels of documents: "[1]" by "[Doc_5]".

    Args:
        text: an answer.
        documents: number -> document id. A citation of another number stays.
    """
    written = ""
    place = 0
    for mark in find_citations(text):
        if all(number in documents for number in mark.numbers):
            names = [f"[{_DOCUMENT}{documents[number]}]" for number in mark.numbers]
            written += text[place : mark.start] + "".join(names)
            place = mark.end
    return written + text[place:]


_LONGEST_LABEL = 200
"""Characters after an opening bracket for which the closing one is waited for."""


@dataclass
class NumberedPieces:
    """Passes on the pieces of a reply, with numbers in place of the labels of documents.

    Args:
        listener: takes the pieces.
        numbers: document id -> number.
        text: the beginning of a label, held back until the rest has come.
    """

    listener: Callable[[str], object]
    numbers: Mapping[str, int]
    text: str = ""

    def __call__(self, piece: str) -> None:
        """Take the next piece of the reply."""
        self.text += piece
        start = self.text.rfind("[")
        end = self.text[start:]
        is_open = start >= 0 and "]" not in end and "\n" not in end and len(end) < _LONGEST_LABEL
        self._pass_on(start if is_open else len(self.text))

    def release(self) -> None:
        """Pass on what is held back."""
        self._pass_on(len(self.text))

    def _pass_on(self, end: int) -> None:
        text = read_document_labels(self.text[:end], self.numbers)
        self.text = self.text[end:]
        if text:
            self.listener(text)
