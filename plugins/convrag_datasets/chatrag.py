"""dataset=chatrag: the ten sets of ChatRAG-Bench."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

from convrag import Conversation, Passage, Turn
from convrag_datasets.file_dataset import Contents
from convrag_datasets.files.json_rows import read_json_rows
from convrag_datasets.files.row import Row
from convrag_datasets.files.turns import pair_turns
from convrag_datasets.published_dataset import PublishedDataset, grade_passages, split_names

_FILES = {
    "coqa": "coqa/dev.json",
    "convfinqa": "convfinqa/dev.json",
    "doc2dial": "doc2dial/test.json",
    "doqa_cooking": "doqa/test_cooking.json",
    "doqa_movies": "doqa/test_movies.json",
    "doqa_travel": "doqa/test_travel.json",
    "hybridial": "hybridial/test.json",
    "inscit": "inscit/dev.json",
    "qrecc": "qrecc/test.json",
    "quac": "quac/test.json",
    "sqa": "sqa/test.json",
    "topiocqa": "topiocqa/dev.json",
}
"""DoQA, one of the ten, has three parts."""

_CANNOT = "cannot find the answer"
"""Part of the reference answers of questions that the context does not answer."""

_ROLES = {"user", "assistant"}


class ChatragDataset(PublishedDataset):
    """ChatRAG-Bench: ten sets of questions in conversations, each question with its contexts.

        python -m convrag dataset=chatrag dataset.path=ChatRAG-Bench dataset.part=doc2dial
        history=gold limit=100

    `path` is a copy of huggingface.co/datasets/nvidia/ChatRAG-Bench. Each item asks one question,
    the last message; the messages before it are given history. Its id is the part and its position
    in the file ("doc2dial_0"). The corpus of a part are the contexts of all its items, each once,
    with ids made of their texts; an item's ground-truth contexts are relevant (grade 1) and its
    passages. The first answer is the reference. Label: `answerability`. Source: Liu et al., ChatQA,
    NeurIPS 2024.

    Args:
        path: the copy, with a folder for each set in it or in data/.
        part: coqa, convfinqa, doc2dial, doqa_cooking, doqa_movies, doqa_travel, hybridial, inscit,
            qrecc, quac, sqa or topiocqa; several joined with "+", each of them a domain.

    Raises:
        UnknownName: there is no such part.
    """

    source = "huggingface.co/datasets/nvidia/ChatRAG-Bench"
    corpus_code = (__name__,)

    def __init__(self, *, path: Path, part: str) -> None:
        self._parts = split_names(part, list(_FILES), "dataset.part")
        super().__init__(folders=[path / "data", path], domain=self._parts[0])

    def list_files(self) -> Iterable[Path | None]:
        """List the files of the parts."""
        return (self.find(_FILES[part]) for part in self._parts)

    def read_contents(self) -> Contents:
        """Read the parts. Raises DataError."""
        conversations: list[Conversation] = []
        for part in self._parts:
            conversations += _read_items(self.find_corpus(part), part)
        return Contents(tuple(conversations), grade_passages(conversations))

    def domains(self) -> Sequence[str]:
        """Return the parts."""
        return self._parts

    def find_corpus(self, domain: str) -> Path:
        """Find the file of a part. Raises DataError where it is missing."""
        return self.require(_FILES[domain])

    def read_corpus(self, path: Path, domain: str) -> Iterator[Passage]:
        """Stream the contexts of a part, each once. Raises DataError."""
        seen: set[str] = set()
        for row in read_json_rows(path):
            contexts = _read_passages(row.optional_items("ctxs"), domain)
            for passage in (*contexts, *_read_truth(row, domain)):
                if passage.id not in seen:
                    seen.add(passage.id)
                    yield passage


def _read_items(path: Path, part: str) -> Iterator[Conversation]:
    for position, row in enumerate(read_json_rows(path)):
        name = f"{part}_{position}"
        exchanges = pair_turns(row.require_items("messages"), _is_question)
        if not exchanges:
            raise row.error("'messages' must end with a question of the user's")
        *history, (question, _) = exchanges  # replies to the last question are left out
        answers = _read_answers(row)
        is_unanswerable = any(_CANNOT in answer.casefold() for answer in answers)
        truth = {passage.id: passage for passage in _read_truth(row, part)}
        turn = Turn(
            id=name,
            question=question.require_text("content"),
            answer=answers[0] if answers else "",
            passages=tuple(truth.values()),
            labels={"answerability": "UNANSWERABLE" if is_unanswerable else "ANSWERABLE"},
        )
        yield Conversation(name, (turn,), part, history=tuple(_read_history(history, name)))


def _is_question(message: Row) -> bool:
    role = message.require_text("role")
    if role not in _ROLES:
        raise message.error(f"the role must be user or assistant, not {role!r}")
    return role == "user"


def _read_history(exchanges: Iterable[tuple[Row, Sequence[Row]]], name: str) -> Iterator[Turn]:
    for number, (question, replies) in enumerate(exchanges, 1):
        answers = [reply.get("content").read_text() for reply in replies]
        yield Turn(f"{name}_{number}", question.get("content").read_text(), "\n".join(answers))


def _read_answers(node: Row) -> list[str]:
    """Read the reference answers that are not blank.

    They are in `answers` or `answer`: a text, or a list of texts and numbers.
    """
    items = _list_items(node.get("answers", "answer"))
    texts = [_read_answer(item) for item in items]
    return [text for text in texts if text.strip()]


def _read_answer(node: Row) -> str:
    if isinstance(node.value, bool):
        return "yes" if node.value else "no"
    if isinstance(node.value, int | float):
        return str(node.value)
    return node.read_text()


def _list_items(node: Row) -> list[Row]:
    return node.read_items() if isinstance(node.value, list) else [node]


def _read_truth(node: Row, part: str) -> Iterator[Passage]:
    """Read the ground-truth contexts, an object or a list of objects."""
    if node.has("ground_truth_ctx"):
        yield from _read_passages(_list_items(node.get("ground_truth_ctx")), part)


def _read_passages(nodes: Iterable[Row], part: str) -> Iterator[Passage]:
    """Read the contexts that are not blank.

    Their ids are made of their texts, since the same context is in several fields.
    """
    for node in nodes:
        text = node.optional_text("text", "ctx").strip()
        if text:
            digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
            yield Passage(f"{part}-{digest}", text, node.optional_text("title"))
