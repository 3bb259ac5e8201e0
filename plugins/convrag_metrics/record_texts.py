"""The texts that metrics compare: the answer and the evidence of a record, and the data set's reference answer."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from convrag import Dataset, Turn, TurnRecord
from convrag.sdk.lazy import Lazy

Citations = Literal["remove", "keep"]

# Code is matched first, and left alone: `items[0]` cites nothing.
CODE_OR_CITATION = re.compile(
    r"```.*?```|`[^`\n]*`|(?<![^\S\n])[^\S\n]*\[\s*(?P<numbers>\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\s*\]", re.DOTALL
)


def strip_citations(text: str) -> str:
    """A text without the marks `[1]`, `[1, 2]`, and the space before them; code stays as it is."""
    if "[" not in text:
        return text.strip()
    return CODE_OR_CITATION.sub(lambda found: "" if found["numbers"] else found[0], text).strip()


def truncate_words(text: str, max_words: int | None) -> str:
    """The first `max_words` words of a text, with the white space between them; None leaves all."""
    if max_words is None:
        return text
    ends = [match.end() for _, match in zip(range(max_words), re.finditer(r"\S+", text), strict=False)]
    return text[: ends[-1]] if ends else ""


def prepare_answer(record: TurnRecord, citations: Citations = "remove", max_words: int | None = None) -> str:
    """The answer of a turn as it is compared."""
    answer = record.answer.text
    return truncate_words(strip_citations(answer) if citations == "remove" else answer.strip(), max_words)


def lacks_part(record: TurnRecord, part: Literal["ranking", "answer", "evidence"]) -> bool:
    """Whether a turn has no ranking, answer or evidence that could be measured.

    Either its files have none (task=evaluate), or the run makes no answers (generator=none).
    """
    given = record.trace.get("evaluate", {}).get("given")
    makes_none = part == "answer" and record.trace.get("generator", {}).get("outcome") == "no generator"
    return makes_none or (given is not None and part not in given)


def evidence_texts(record: TurnRecord) -> list[str]:
    """The full texts of the passages in the evidence, each once; for a hint the passage that it stands for."""
    texts = (item.passage.text or item.text for item in record.evidence.items)
    return list(dict.fromkeys(text for text in texts if text.strip()))


class References:
    """The turns of a data set by id, read when the first is looked up."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._turns = Lazy(self._read)

    def find_answer(self, record: TurnRecord) -> str:
        """The reference answer to a turn; empty where there is none."""
        turn = self._turns().get(record.turn_id)
        return turn.answer.strip() if turn else ""

    def has_answers(self) -> bool:
        """Whether any turn has a reference answer."""
        return any(turn.answer.strip() for turn in self._turns().values())

    def find_label(self, record: TurnRecord, name: str) -> str:
        """A label of the turn in upper case, from the record or else from the data set; empty where neither has it.

        Args:
            record: the turn.
            name: in lower case with underscores ("question_type"), however the data set writes it.
        """
        if found := _get_label(record.labels, name):
            return found
        turn = self._turns().get(record.turn_id)
        return _get_label(turn.labels, name) if turn else ""

    def _read(self) -> dict[str, Turn]:
        return {turn.id: turn for each in self._dataset.conversations() for turn in each.turns}


def _get_label(labels: Mapping[str, Any], name: str) -> str:
    for key, value in labels.items():
        if key.casefold().replace(" ", "_").replace("-", "_") == name:
            return str(value[0] if isinstance(value, list | tuple) and value else value or "").strip().upper()
    return ""
