"""A language model that writes questions about a corpus of notes, and does as it is told where it
should not.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from convrag import LLM, Completion, Dataset, Hit, Passage, Query, Retriever

Reply = Callable[[Mapping[str, Any]], Any]


def note(document: str, number: int) -> Passage:
    """A passage with a fact of its own: its key, which no other has."""
    text = (
        f"The {document} room has key {number} in the blue box beside its door. Whoever takes the key writes the name, "
        "the date and the time into the book, and brings it back before the evening of the same day."
    )
    return Passage(
        f"{document}#{number}", text, f"The {document} room", metadata={"document": document}
    )


class Notes(Dataset):
    """Documents with so many passages each."""

    def __init__(self, *, documents: Mapping[str, int]) -> None:
        self.documents = dict(documents)

    def conversations(self) -> Any:
        return iter(())

    def corpus(self, domain: str) -> Iterator[Passage]:
        return (
            note(name, number)
            for name, count in self.documents.items()
            for number in range(1, count + 1)
        )


class Nearest(Retriever):
    """Finds all passages of a data set, in their order."""

    def __init__(self, dataset: Dataset) -> None:
        self.passages = list(dataset.corpus("default"))

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        return [Hit(passage, 1.0) for passage in self.passages[:k]]


class QuestionLLM(LLM):
    """Asks for the key of each note. A task's reply can be replaced; `asked` are the inputs of its prompts."""

    def __init__(self, **replies: Reply) -> None:
        self.replies = replies
        self.asked: list[tuple[str, Mapping[str, Any], str]] = []
        self._lock = threading.Lock()

    def complete(self, prompt: Any) -> Completion:
        with self._lock:
            self.asked.append(
                (
                    prompt.task,
                    prompt.inputs,
                    "\n".join(message.content for message in prompt.messages),
                )
            )
        good: Reply = getattr(self, f"do_{prompt.task}")
        reply = self.replies.get(prompt.task, good)(prompt.inputs)
        return Completion(
            reply if isinstance(reply, str) else json.dumps(reply),
            10,
            5,
            cost_usd=0.01,
            model="toy",
        )

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def list_inputs(self, task: str) -> list[Mapping[str, Any]]:
        """The inputs of all prompts of a task."""
        return [inputs for name, inputs, _ in self.asked if name == task]

    @staticmethod
    def do_question(inputs: Mapping[str, Any]) -> Any:
        number = len(inputs["history"]) + len(inputs["refused"])
        sentence = inputs["passage"].split(". ")[0]
        standalone = f"{'Which' if number % 2 else 'What'} number opens {inputs['title']}, please ({number})?"
        question = f"And it, for time {number}?" if inputs["kind"] == "follow_up" else standalone
        return {
            "question": question,
            "answer": f"{sentence}.",
            "quote": sentence,
            "standalone": standalone,
        }

    @staticmethod
    def do_alone(inputs: Mapping[str, Any]) -> Any:
        return {"clear": not inputs["question"].startswith("And it")}

    @staticmethod
    def do_solve(inputs: Mapping[str, Any]) -> Any:
        return {"answer": inputs["passage"].split(". ")[0]}

    @staticmethod
    def do_compare(inputs: Mapping[str, Any]) -> Any:
        return {"same": inputs["answer"].split()[1] == inputs["other"].split()[1]}


def write_notes(folder: Path, documents: Mapping[str, int]) -> Path:
    """Write the notes as a file that dataset=jsonl reads."""
    passages = [
        note(name, number) for name, count in documents.items() for number in range(1, count + 1)
    ]
    rows = [
        {"_id": each.id, "text": each.text, "title": each.title, "metadata": dict(each.metadata)}
        for each in passages
    ]
    path = folder / "notes.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path
