"""dataset=mtrag: the benchmarks MTRAG and MTRAG-UN."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from convrag import Conversation, DataError, Passage, Turn
from convrag_datasets.file_dataset import Contents, FileDataset
from convrag_datasets.files.json_rows import read_json_rows
from convrag_datasets.files.qrels import read_qrels
from convrag_datasets.files.queries import read_queries
from convrag_datasets.files.row import Row
from convrag_datasets.files.turns import TurnRow, group_turns, pair_messages, split_turn_id
from convrag_datasets.published_dataset import choose_domains, find_file

_CORPORA = "corpora/passage_level"
_CORPUS_SUFFIXES = (".jsonl", ".jsonl.zip", ".jsonl.gz")


class _Layout(NamedTuple):
    """The files of a part of the benchmark, with `{domain}` in place of a domain.

    Args:
        folders: possible names of the part's folder.
        references: possible paths of the generation tasks in it.
        qrels: their path in it; empty for a part without qrels.
        questions: their path in it; empty for a part without a file of questions.
    """

    folders: Sequence[str]
    references: Sequence[str]
    qrels: str
    questions: str


_REFERENCE = "generation_tasks/reference.jsonl"
_LAYOUTS: dict[str, _Layout] = {
    "human": _Layout(
        ["mtrag-human", "human"],  # the second is the name in the benchmark's first year
        [_REFERENCE],
        "retrieval_tasks/{domain}/qrels/dev.tsv",
        "retrieval_tasks/{domain}/{domain}_questions.jsonl",
    ),
    "un": _Layout(["mtragun-human"], [_REFERENCE], "retrieval_tasks/qrels/{domain}.tsv", ""),
    "synthetic": _Layout(
        ["mtrag-synthetic", "synthetic"], ["generation_tasks/synthetic.jsonl", _REFERENCE], "", ""
    ),
}


class MtragDataset(FileDataset):
    """The MTRAG benchmarks, from a clone of github.com/IBM/mt-rag-benchmark.

    Conversations, reference answers and relevant passages come from the part's generation tasks; a
    clone whose human part lacks them gives the questions alone. All turns are asked, those with
    qrels are scored. Of MTRAG-UN, the benchmark of SemEval-2026 task 8, one turn of each
    conversation is asked, and what was said before it is given. The synthetic part has no qrels.
    Sources: Katsis et al., MTRAG, TACL 2025; Rosenthal et al., MTRAG-UN, 2026.

    Args:
        path: the folder of the clone, with corpora/ and the folder of the part in it.
        domain: clapnq, cloud, fiqa or govt, several joined with "+", or "all" that are there.
        part: human (mtrag-human/), un (mtragun-human/) or synthetic (mtrag-synthetic/).
    """

    def __init__(
        self,
        *,
        path: Path,
        domain: str = "all",
        part: Literal["human", "un", "synthetic"] = "human",
    ) -> None:
        super().__init__(corpus=None, domain=domain)
        self.path = path
        self.part = part
        self._layout = _LAYOUTS[part]
        folders = [path / name for name in self._layout.folders]
        self._folder = next((folder for folder in folders if folder.is_dir()), folders[0])
        references = self._layout.references
        self._reference = find_file([self._folder], *references) or self._folder / references[0]

    def list_files(self) -> Iterable[Path]:
        """List all files of the chosen domains that may be read. Raises as `domains` does."""
        domains = self.domains()
        files = [self._reference]
        for name in (self._layout.qrels, self._layout.questions):
            if name:
                files += [self._find(name, domain) for domain in domains]
        for domain in domains:
            files += self._list_corpus_paths(domain)
        return files

    def note(self) -> str:
        """Say that there are no reference answers, or no qrels."""
        if not self._layout.qrels:
            return "The synthetic part of MTRAG has no qrels: no ranking is scored."
        if self._reference.is_file():
            return ""
        return (
            "MTRAG was read without its generation tasks: the conversations hold questions, and no "
            "answers."
        )

    def domains(self) -> Sequence[str]:
        """Return the chosen domains.

        Raises DataError where the folder is not a clone, and UnknownName for a domain it lacks.
        """
        return choose_domains(self._domain, self._list_domains())

    def find_corpus(self, domain: str) -> Path:
        """Find the passages of a domain, packed or not. Raises DataError where they are missing."""
        paths = self._list_corpus_paths(domain)
        for path in paths:
            if path.is_file():
                return path
        raise DataError(
            f"the corpus of {domain!r} is missing (nor is there {paths[0].name})", path=paths[1]
        )

    def read_contents(self) -> Contents:
        """Read the qrels and the conversations of the chosen domains. Raises DataError."""
        conversations = self._read_conversations()
        grades: dict[str, dict[str, int]] = {}
        if self._layout.qrels:
            for domain in self.domains():
                grades |= read_qrels(self._find(self._layout.qrels, domain), conversations)
        return Contents(conversations, grades)

    def _read_conversations(self) -> tuple[Conversation, ...]:
        if self._reference.is_file() or not self._layout.questions:
            return read_reference(
                self._reference,
                self._list_domains(),
                self.domains(),
                give_history=self.part == "un",
            )
        conversations: list[Conversation] = []
        for domain in self.domains():
            path = self._find(self._layout.questions, domain)
            conversations += read_queries(path, domain, with_history=True)
        return tuple(conversations)

    def _list_domains(self) -> list[str]:
        """List the domains with qrels by name; those with a corpus for a part without qrels.

        Raises DataError.
        """
        if not self.path.is_dir():
            raise DataError(
                "this folder does not exist; dataset.path must be a clone of MTRAG", path=self.path
            )
        if not self._layout.qrels:
            return self._list_corpora()
        pattern = self._layout.qrels.format(domain="*")
        before, _, after = pattern.partition("*")
        domains = []
        for path in self._folder.glob(pattern):
            name = path.relative_to(self._folder).as_posix()
            domains.append(name.removeprefix(before).removesuffix(after))
        if not domains:
            raise DataError(
                f"this is no clone of MTRAG: it holds no {self._folder.name}/{pattern}; "
                "set dataset.path",
                path=self.path,
            )
        return sorted(domains)

    def _list_corpora(self) -> list[str]:
        names = set()
        for path in (self.path / _CORPORA).glob("[!.]*.jsonl*"):
            if path.name.endswith(_CORPUS_SUFFIXES):
                names.add(path.name.partition(".jsonl")[0])
        if not names:
            message = (
                "this is no clone of MTRAG: it holds no corpora/passage_level/*; set dataset.path"
            )
            raise DataError(message, path=self.path)
        return sorted(names)

    def _find(self, name: str, domain: str) -> Path:
        return self._folder / name.format(domain=domain)

    def _list_corpus_paths(self, domain: str) -> list[Path]:
        """List the files that may have the passages of a domain."""
        return [self.path / _CORPORA / f"{domain}{suffix}" for suffix in _CORPUS_SUFFIXES]


_LABELS = {
    "answerability": "Answerability",
    "question_type": "Question Type",
    "multi_turn": "Multi-Turn",
}


def read_reference(
    path: Path, domains: Collection[str], chosen: Collection[str], *, give_history: bool = False
) -> tuple[Conversation, ...]:
    """Read the conversations of the chosen domains, with reference answers, passages and labels.

    Args:
        path: reference.jsonl.
        domains: all domains of the benchmark; each task names one.
        chosen: the domains whose conversations are read.
        give_history: whether turns before a conversation's first task are given as its history, and
            not asked.

    Raises:
        DataError: a line is not a task, a turn occurs twice, or there is no conversation.
    """
    rows = list(_read_tasks(path, domains, chosen))
    conversations = group_turns(rows)
    if not conversations:
        raise DataError(f"this file holds no conversations about {', '.join(chosen)}", path=path)
    if not give_history:
        return conversations
    tasks = {row.turn.id for row in rows}
    return tuple(_give_history(conversation, tasks) for conversation in conversations)


def _give_history(conversation: Conversation, tasks: Collection[str]) -> Conversation:
    """Make the turns before a conversation's first task its history."""
    turns = conversation.turns
    first = next(number for number, turn in enumerate(turns) if turn.id in tasks)
    return replace(conversation, turns=turns[first:], history=turns[:first])


def find_domain(collection: str, domains: Collection[str]) -> str:
    """Find the longest domain in the name of an index ("mt-rag-ibmcloud-elser-...").

    Empty where there is none.
    """
    name = collection.casefold()
    found = [domain for domain in domains if domain.casefold() in name]
    return max(found, key=lambda domain: (len(domain), domain), default="")


def _read_tasks(path: Path, domains: Collection[str], chosen: Collection[str]) -> Iterator[TurnRow]:
    for row in read_json_rows(path):
        domain = find_domain(row.require_text("Collection"), domains)
        if domain in chosen:
            yield _read_task(row, domain)


def _read_task(row: Row, domain: str) -> TurnRow:
    task_id = row.require_text("task_id")
    conversation_and_number = split_turn_id(task_id)
    if conversation_and_number is None:
        raise row.error(f"'task_id' must be conversation<::>turn with a number, not {task_id!r}")
    exchanges = pair_messages(row.require_items("input"))
    if not exchanges:
        raise row.error("'input' holds no question")
    *history, (question, _) = exchanges
    turn = Turn(task_id, question, _read_answer(row), tuple(_read_passages(row)), _read_labels(row))
    return TurnRow(row, *conversation_and_number, turn, domain, tuple(history))


def _read_answer(row: Row) -> str:
    targets = row.optional_items("targets")
    return targets[0].optional_text("text") if targets else ""


def _read_passages(row: Row) -> Iterator[Passage]:
    for context in row.optional_items("contexts"):
        yield Passage(
            id=context.require_id("document_id"),
            text=context.optional_text("text"),
            title=context.optional_text("title"),
            url=context.optional_text("url"),
        )


def _read_labels(row: Row) -> dict[str, Any]:
    """Read the labels under convrag's names: a string each, or a list where there are several."""
    labels: dict[str, Any] = {}
    # MTRAG-UN writes "answerability" for "Answerability"
    fields = {name.casefold().replace("_", " "): name for name in row.fields}
    for label, published in _LABELS.items():
        name = fields.get(published.casefold(), published)
        value = row.fields.get(name)
        values = [value] if isinstance(value, str) else value or []
        if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
            raise row.error(f"{name!r} must be a string or a list of strings")
        if values:
            labels[label] = values[0] if len(values) == 1 else values
    return labels
