"""dataset=cast: TREC CAsT. Its files of topics, which iKAT has too, are read here."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from convrag import ConfigError, Conversation, Passage, Turn
from convrag.sdk.data.jsonl import read_lines
from convrag_datasets.file_dataset import Contents
from convrag_datasets.files.json_rows import read_json_rows
from convrag_datasets.files.qrels import read_qrels
from convrag_datasets.files.row import Row, with_ids
from convrag_datasets.files.turns import pair_turns
from convrag_datasets.published_dataset import PublishedDataset, add_texts

_CANONICAL = "canonical_result_id"


def format_turn(topic: str, number: str) -> str:
    """Return the id of a turn as CAsT's qrels have it: "31_1", "132_1-3"."""
    return f"{topic}_{number}"


def read_topics(path: Path, canonical: str) -> Iterator[Conversation]:
    """Yield the conversations of a file of 2019, 2020 or 2021.

    A turn's `raw_utterance` is the question. 2021 has the canonical `passage` of each turn, which
    was shown as the answer, and is the turn's answer and its only passage ("MARCO_D59865-7":
    document and number of the passage). 2020 has the id alone, which becomes the label
    `provenance`; 2019 has none.

    Args:
        path: a JSON list of topics.
        canonical: "manual" or "automatic": which canonical results of 2020 are taken.

    Raises:
        DataError: an item is no topic, or a topic or a turn occurs twice.
    """
    for _, row in with_ids(read_json_rows(path), "topic", find_number):
        yield read_topic(row, canonical)


def read_topic(row: Row, canonical: str) -> Conversation:
    """Read a topic as `read_topics` does. Raises DataError."""
    topic = find_number(row)
    turns = []
    for number, turn in with_ids(row.require_items("turn"), "turn", find_number):
        turns.append(_read_turn(turn, format_turn(topic, number), canonical))
    return Conversation(topic, tuple(turns))


def find_number(row: Row) -> str:
    """Return the number of a topic or of a turn, which is its id."""
    return row.require_id("number")


def read_field(path: Path, field: str) -> dict[str, str]:
    """Read a field ("manual_rewritten_utterance") of each turn that has it: turn id -> text.

    Raises DataError.
    """
    texts = {}
    for topic in read_json_rows(path):
        for turn in topic.require_items("turn"):
            if turn.has(field):
                turn_id = format_turn(topic.require_id("number"), turn.require_id("number"))
                texts[turn_id] = turn.optional_text(field)
    return texts


def read_resolved(path: Path) -> Mapping[str, str]:
    """Read the table of 2019: turn id -> resolved utterance.

    Raises DataError for a line that is not an id, a tab and a text.
    """
    resolved: dict[str, str] = {}
    for line in read_lines(path):
        turn_id, _, text = (part.strip() for part in line.text.partition("\t"))
        if not turn_id or not text:
            raise line.error(
                "there must be a turn's id and its resolved utterance, with a tab between them"
            )
        if turn_id in resolved:
            raise line.error(f"the turn {turn_id!r} occurs twice")
        resolved[turn_id] = text
    return resolved


def _read_turn(node: Row, turn_id: str, canonical: str) -> Turn:
    question = node.require_text("raw_utterance")
    result = _read_result(node, canonical)
    if node.has("passage"):
        passage = _read_passage(node, result)
        return Turn(turn_id, question, passage.text, (passage,), {"provenance": [passage.id]})
    labels: dict[str, Any] = {"provenance": [result]} if result else {}
    return Turn(turn_id, question, labels=labels)


def _read_result(node: Row, canonical: str) -> str:
    """Return the id of the canonical result; empty where there is none."""
    for field in (f"{canonical}_{_CANONICAL}", _CANONICAL):
        if node.has(field):
            return node.require_id(field)
    return ""


def _read_passage(node: Row, result: str) -> Passage:
    """Read the passage of a turn of 2021, which is a part of its canonical result."""
    passage_id = result
    if node.has("passage_id"):
        passage_id = f"{result}-{node.require_number('passage_id')}"
    if not passage_id:
        raise node.error(f"there is a 'passage', but no {_CANONICAL!r}")
    metadata = {"result": result} if result else {}
    return Passage(passage_id, node.optional_text("passage"), metadata=metadata)


_USER, _SYSTEM = "user", "system"


@dataclass(frozen=True)
class TreeTurn:
    """A turn of the user or the system.

    Args:
        number: its own.
        parent: the number of the turn before it; empty for the first one.
        node: its row.
        is_user: whether it is the user's.
    """

    number: str
    parent: str
    node: Row
    is_user: bool


def read_trees(path: Path) -> Iterator[Conversation]:
    """Yield a conversation for each branch of each topic, in the order of the last turns.

    A turn's question is the user's `utterance`. Its answer is all that the system says until the
    user speaks again. Its label `provenance` has the passages of the answer; its label `grounded`
    is `no` where there are none, as where the system asks back. A branch asks the turns that no
    earlier branch has asked; those that it shares with one are its history. So each turn is asked
    and measured once, and the answer that leads into a branch is in its history.

    Raises:
        DataError: an item is no topic; a turn occurs twice, or has an unknown parent.
    """
    for _, row in with_ids(read_json_rows(path), "topic", find_number):
        yield from read_tree(row)


def read_tree(row: Row) -> Iterator[Conversation]:
    """Yield a conversation for each branch of a topic, as `read_trees` does. Raises DataError."""
    return _read_branches(find_number(row), _read_tree_turns(row), row)


def _read_tree_turns(node: Row) -> dict[str, TreeTurn]:
    """Read the turns of a topic: number -> turn. Raises DataError."""
    turns: dict[str, TreeTurn] = {}
    for number, each in with_ids(node.require_items("turn"), "turn", find_number):
        participant = each.require_text("participant").strip().casefold()
        if participant not in (_USER, _SYSTEM):
            raise each.error(f"'participant' must be User or System, not {participant!r}")
        parent = each.require_id("parent") if each.has("parent") else ""
        turns[number] = TreeTurn(number, parent, each, participant == _USER)
    return turns


def _read_branches(topic: str, turns: dict[str, TreeTurn], node: Row) -> Iterator[Conversation]:
    parents = {turn.parent for turn in turns.values()}
    asked: set[str] = set()
    for leaf in turns.values():
        if leaf.number in parents:
            continue
        exchanges = _read_exchanges(topic, _find_branch(leaf, turns))
        new = [turn for turn in exchanges if turn.id not in asked]
        shared = exchanges[: len(exchanges) - len(new)]
        if new:
            name = format_turn(topic, leaf.number)
            yield Conversation(name, tuple(new), history=tuple(shared))
        asked.update(turn.id for turn in new)
    if not asked:
        raise node.error(f"no user speaks in the topic {topic!r}")


def _find_branch(leaf: TreeTurn, turns: dict[str, TreeTurn]) -> list[TreeTurn]:
    """Find the turns from the first one to this one."""
    branch = [leaf]
    turn = leaf
    while turn.parent:
        if turn.parent not in turns:
            raise turn.node.error(
                f"the parent {turn.parent!r} of the turn {turn.number!r} is no turn of this topic"
            )
        turn = turns[turn.parent]
        branch.append(turn)
    branch.reverse()
    return branch


def _read_exchanges(topic: str, branch: Sequence[TreeTurn]) -> list[Turn]:
    """Read the exchanges of a branch, without those before the user's first question."""
    pairs = pair_turns(branch, lambda turn: turn.is_user)
    return [_make_exchange(topic, question, replies) for question, replies in pairs]


def _make_exchange(topic: str, question: TreeTurn, replies: Sequence[TreeTurn]) -> Turn:
    answers = []
    provenance = []
    for reply in replies:
        answers.append(reply.node.optional_text("response", "utterance"))
        provenance += [name.read_id() for name in reply.node.optional_items("provenance")]
    labels: dict[str, object] = {}
    if provenance:
        labels["provenance"] = provenance
    if replies:
        labels["grounded"] = "yes" if provenance else "no"
    return Turn(
        id=format_turn(topic, question.number),
        question=question.node.require_text("utterance", "raw_utterance"),
        answer="\n".join(answer for answer in answers if answer),
        labels=labels,
    )


@dataclass(frozen=True)
class _Year:
    """The names of a year's files, and its passages.

    Args:
        topics: with `{kind}` in place of the kind of the canonical results.
        rewrites: by kind.
        qrels: any of these names.
        passages: their origin, for messages.
    """

    topics: str
    rewrites: Mapping[str, str]
    qrels: tuple[str, ...]
    passages: str


_2020 = "2020_{kind}_evaluation_topics_v1.0.json"
_2021 = "2021_{kind}_evaluation_topics_v1.0.json"
_2022 = "2022_evaluation_topics_tree_v1.0.json"
_YEARS = {
    2019: _Year(
        "evaluation_topics_v1.0.json",
        {"resolved": "evaluation_topics_annotated_resolved_v1.0.tsv"},
        ("2019qrels.txt",),
        "MS MARCO passages and TREC CAR paragraphs",
    ),
    2020: _Year(
        _2020,
        {"manual": _2020, "automatic": _2020},
        ("2020qrels.txt",),
        "MS MARCO passages and TREC CAR paragraphs",
    ),
    2021: _Year(
        _2021,
        {"manual": _2021, "automatic": _2021},
        ("trec-cast-qrels-docs.2021.qrel",),
        "MS MARCO documents, KILT's Wikipedia and the Washington Post; the judgements are of whole "
        "documents",
    ),
    2022: _Year(
        _2022,
        {"manual": _2022, "automatic": "2022_automatic_evaluation_topics_tree_v1.0.json"},
        ("cast2022.qrel", "2022qrels.txt"),
        "MS MARCO V2, KILT's Wikipedia and the Washington Post",
    ),
}


class CastDataset(PublishedDataset):
    """TREC CAsT 2019 to 2022, from a clone of github.com/daltonj/treccastweb.

        python -m convrag task=evaluate task.run=run.trec dataset=cast dataset.path=treccastweb
        dataset.year=2020

    Turn ids are the qrels' ("81_1", "132_1-3"). The passages are licensed and not in the clone: a
    TREC run is evaluated without them, and `corpus` names those that you have. 2022 has trees: each
    branch is a conversation, whose first turns, where an earlier branch has asked them, are its
    history. Rewrites (rewriter=replay rewriter.kind=...): resolved in 2019, manual and automatic
    from 2020. Source: Dalton et al., TREC 2019 to 2022.

    Args:
        path: the clone, or a folder with the year's folder or its files in it.
        year: 2019, 2020, 2021 or 2022.
        canonical: whose canonical results of 2020 and 2021 are the answers of the history.
        corpus: JSONL file of passages, as dataset=jsonl has them, with CAsT's ids; it has the texts
            of the canonical results.

    Raises:
        ConfigError: there was no CAsT in this year.
    """

    source = "github.com/daltonj/treccastweb"
    no_corpus = "dataset.corpus=FILE.jsonl names a file of those that you have"

    def __init__(
        self,
        *,
        path: Path,
        year: int,
        canonical: Literal["manual", "automatic"] = "manual",
        corpus: Path | None = None,
    ) -> None:
        if year not in _YEARS:
            raise ConfigError(
                f"dataset.year={year}: TREC CAsT was held in 2019, 2020, 2021 and 2022"
            )
        folder = path / str(year)
        folders = [folder, folder / "data", folder / "data/evaluation", path]
        super().__init__(folders=folders, corpus=corpus)
        self._year = year
        self._files = _YEARS[year]
        self._topics = self._files.topics.format(kind=canonical)
        self._rewrites = {
            kind: name.format(kind=kind) for kind, name in self._files.rewrites.items()
        }
        self._canonical = canonical

    def explain_missing_corpus(self, domain: str) -> str:
        """Say where this year's passages are from."""
        return (
            f"TREC CAsT {self._year} searches {self._files.passages}, which are not published with "
            f"it: {self.no_corpus}"
        )

    def list_files(self) -> Iterable[Path | None]:
        """List the topics, the rewrites and the qrels of the year."""
        names = dict.fromkeys([self._topics, *self._rewrites.values()])  # each once
        return [*(self.find(name) for name in names), self.find(*self._files.qrels)]

    def read_contents(self) -> Contents:
        """Read the year's files. Raises DataError."""
        topics = self.require(self._topics)
        if self._year == 2022:
            conversations = tuple(read_trees(topics))
        else:
            conversations = tuple(read_topics(topics, self._canonical))
        if self._corpus:
            conversations = tuple(add_texts(conversations, self.corpus("default")))
        qrels = self.find(*self._files.qrels)
        note = ""
        if qrels is None:
            missing = self._files.qrels[0]
            note = f"TREC CAsT {self._year} was read without judgements: there is no {missing}."
        grades = read_qrels(qrels, conversations)
        return Contents(conversations, grades, self._read_rewrites(), note)

    def _read_rewrites(self) -> dict[str, dict[str, str]]:
        rewrites = {}
        for kind, name in self._rewrites.items():
            path = self.find(name)
            if path is None:
                continue
            if kind == "resolved":
                texts = read_resolved(path)
            else:
                texts = read_field(path, f"{kind}_rewritten_utterance")
            rewrites[kind] = {turn: text for turn, text in texts.items() if text.strip()}
        return rewrites
