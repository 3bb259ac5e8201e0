"""dataset=chatrag: the ten sets of ChatRAG-Bench."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from convrag import Conversation, DataError, Passage, Turn, UnknownName
from convrag_datasets.json_nodes import JsonNode, read_list
from convrag_datasets.published import Contents, PublishedDataset, find_file, grade_passages, require_file

_SOURCE = "huggingface.co/datasets/nvidia/ChatRAG-Bench"
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

_CANNOT = "cannot find the answer"  # in the reference answers of questions that the context does not answer
_ROLES = {"user", "assistant"}


class ChatragDataset(PublishedDataset):
    """ChatRAG-Bench: ten sets of questions in conversations, in one form, each question with its contexts.

        python -m convrag dataset=chatrag dataset.path=ChatRAG-Bench dataset.part=doc2dial history=gold limit=100

    `path` is a copy of huggingface.co/datasets/nvidia/ChatRAG-Bench. Each item asks one question, the last message; the
    messages before it are given history. Its id is the part and its position in the file ("doc2dial_0"). The corpus of
    a part are the contexts of all its items, each once, with ids made of their texts; an item's ground-truth contexts
    are relevant (grade 1) and its passages. The first answer is the reference. Label: `answerability`. Source: Liu et
    al., ChatQA, NeurIPS 2024.

    Args:
        path: the copy, with a folder for each set in it or in data/.
        part: coqa, convfinqa, doc2dial, doqa_cooking, doqa_movies, doqa_travel, hybridial, inscit, qrecc, quac, sqa or
            topiocqa; several joined with "+", each of them a domain.

    Raises:
        UnknownName: there is no such part.
    """

    corpus_code = (__name__, "convrag_datasets.json_nodes", "convrag_datasets.json_stream")

    def __init__(self, *, path: Path, part: str) -> None:
        self._parts = list(dict.fromkeys(name.strip() for name in part.split("+")))
        for name in self._parts:
            if name not in _FILES:
                raise UnknownName("dataset.part", name, _FILES)
        super().__init__(corpus=None, domain=self._parts[0])
        self._folders = [path / "data", path]

    def list_files(self) -> Iterable[Path]:
        """The files of the parts."""
        return filter(None, (find_file(self._folders, _FILES[part]) for part in self._parts))

    def read_contents(self) -> Contents:
        """Read the parts. Raises DataError."""
        conversations = tuple(each for part in self._parts for each in _read_items(self._find(part), part))
        return Contents(conversations, grade_passages(conversations))

    def domains(self) -> Sequence[str]:
        """The parts."""
        return self._parts

    def corpus(self, domain: str) -> Iterator[Passage]:
        """Stream the contexts of a part, each once. Raises DataError."""
        self._check_domain(domain)
        return _read_contexts(self._find(domain), domain)

    def corpus_fingerprint(self, domain: str) -> str:
        """A hash of a part's file. Raises DataError where it is missing."""
        self._check_domain(domain)
        return self.hash_corpus(self._find(domain))

    def _find(self, part: str) -> Path:
        return require_file(self._folders, _FILES[part], source=_SOURCE)


class _Message(NamedTuple):
    role: str
    text: str


def _read_items(path: Path, part: str) -> Iterator[Conversation]:
    count = 0
    for count, node in enumerate(read_list(path), 1):
        name = f"{part}_{count - 1}"
        messages = [_read_message(each) for each in node.require_items("messages")]
        while messages and messages[-1].role != "user":
            messages.pop()  # what is said behind the question is no part of it
        if not messages or not messages[-1].text.strip():
            raise node.error("'messages' must end with a question of the user's")
        answers = _read_answers(node)
        unanswerable = any(_CANNOT in answer.casefold() for answer in answers)
        turn = Turn(
            id=name,
            question=messages[-1].text,
            answer=answers[0] if answers else "",
            passages=tuple({each.id: each for each in _read_truth(node, part)}.values()),
            labels={"answerability": "UNANSWERABLE" if unanswerable else "ANSWERABLE"},
        )
        yield Conversation(name, (turn,), part, history=tuple(_pair(messages[:-1], name)))
    if not count:
        raise DataError("this file holds no items", path=path)


def _read_message(node: JsonNode) -> _Message:
    role = node.require_text("role")
    if role not in _ROLES:
        raise node.error(f"the role must be user or assistant, not {role!r}")
    return _Message(role, node.get("content").read_text())


def _pair(messages: Sequence[_Message], name: str) -> Iterator[Turn]:
    """Exchanges: every message of the user begins one; what an assistant says before the first is left out."""
    exchanges: list[tuple[str, list[str]]] = []
    for message in messages:
        if message.role == "user":
            exchanges.append((message.text, []))
        elif exchanges:
            exchanges[-1][1].append(message.text)
    for number, (question, answers) in enumerate(exchanges, 1):
        yield Turn(f"{name}_{number}", question, "\n".join(answers))


def _read_answers(node: JsonNode) -> list[str]:
    """The reference answers, of `answers` or `answer`: a text or a list of texts and numbers; blank ones left out."""
    given = node.get("answers", "answer")
    items = given.read_items() if given.is_list() else [given]
    return [text for text in (each.read_scalar() for each in items) if text.strip()]


def _read_truth(node: JsonNode, part: str) -> Iterator[Passage]:
    """The ground-truth contexts: an object or a list of objects."""
    if node.has("ground_truth_ctx"):
        given = node.get("ground_truth_ctx")
        yield from _read_passages(given.read_items() if given.is_list() else [given], part)


def _read_contexts(path: Path, part: str) -> Iterator[Passage]:
    seen: set[str] = set()
    for node in read_list(path):
        for passage in [*_read_passages(node.optional_items("ctxs"), part), *_read_truth(node, part)]:
            if passage.id not in seen:
                seen.add(passage.id)
                yield passage


def _read_passages(nodes: Iterable[JsonNode], part: str) -> Iterator[Passage]:
    """Those of the contexts that are not blank; the id is made of the text, by which both fields name a context."""
    for node in nodes:
        if text := node.optional_text("text", "ctx").strip():
            digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
            yield Passage(f"{part}-{digest}", text, node.optional_text("title"))
