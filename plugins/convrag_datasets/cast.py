"""dataset=cast: TREC CAsT; and files of its topics, which iKAT has too."""

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
    """The id of a turn as CAsT's qrels have it: "31_1", "132_1-3"."""
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
    for topic, row in with_ids(read_json_rows(path), "topic", find_number):
        turns = with_ids(row.require_items("turn"), "turn", find_number)
        yield Conversation(
            topic,
            tuple(
                _read_turn(each, format_turn(topic, number), canonical) for number, each in turns
            ),
        )


def find_number(row: Row) -> str:
    """The number of a topic or of a turn, which is its id."""
    return row.require_id("number")


def read_field(path: Path, field: str) -> dict[str, str]:
    """Turn id -> the text of a field ("manual_rewritten_utterance") of each turn that has it.
    Raises DataError.
    """
    return {
        format_turn(node.require_id("number"), each.require_id("number")): each.optional_text(field)
        for node in read_json_rows(path)
        for each in node.require_items("turn")
        if each.has(field)
    }


def read_resolved(path: Path) -> Mapping[str, str]:
    """Turn id -> resolved utterance, of the table of 2019. Raises DataError where a line is no id,
    tab and text.
    """
    resolved: dict[str, str] = {}
    for line in read_lines(path):
        turn_id, tab, text = line.text.partition("\t")
        if not tab or not turn_id.strip() or not text.strip():
            raise line.error(
                "there must be a turn's id and its resolved utterance, with a tab between them"
            )
        if turn_id.strip() in resolved:
            raise line.error(f"the turn {turn_id.strip()!r} occurs twice")
        resolved[turn_id.strip()] = text.strip()
    return resolved


def _read_turn(node: Row, turn_id: str, canonical: str) -> Turn:
    question = node.require_text("raw_utterance")
    result = node.require_id(field) if (field := _find_result(node, canonical)) else ""
    if node.has("passage"):
        text = node.optional_text("passage")
        passage_id = (
            f"{result}-{node.require_number('passage_id')}" if node.has("passage_id") else result
        )
        if not passage_id:
            raise node.error(f"there is a 'passage', but no {_CANONICAL!r}")
        passage = Passage(passage_id, text, metadata={"result": result} if result else {})
        return Turn(turn_id, question, text, (passage,), {"provenance": [passage_id]})
    labels: dict[str, Any] = {"provenance": [result]} if result else {}
    return Turn(turn_id, question, labels=labels)


def _find_result(node: Row, canonical: str) -> str:
    """The field with the canonical result; empty where there is none."""
    return next((name for name in (f"{canonical}_{_CANONICAL}", _CANONICAL) if node.has(name)), "")


_USER, _SYSTEM = "user", "system"


@dataclass(frozen=True)
class TreeTurn:
    """A turn of the user or the system, and the number of the turn before it; empty for the first one."""

    number: str
    parent: str
    node: Row
    is_user: bool


def read_trees(path: Path) -> Iterator[Conversation]:
    """Yield the conversations of a file of topics: for each topic one for each branch, in the order
    of its last turns.

    A turn's question is the user's `utterance`, its answer what the system says until the user
    speaks again, and its label `provenance` the passages of that answer; its label `grounded` is
    `no` where there are none, since the system asks back, say. A branch asks the turns that no
    earlier branch has asked; what it shares with one is its history. So each turn is asked and
    measured once, and the answer that leads into a branch is in its history.

    Raises:
        DataError: an item is no topic; a turn occurs twice, or has an unknown parent.
    """
    for topic, row in with_ids(read_json_rows(path), "topic", find_number):
        yield from _read_branches(topic, _read_tree(row), row)


def _read_tree(node: Row) -> dict[str, TreeTurn]:
    """The turns of a topic by number. Raises DataError."""
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
        exchanges = _read_exchanges(topic, _find_way(leaf, turns))
        new = [turn for turn in exchanges if turn.id not in asked]
        if new:
            yield Conversation(
                format_turn(topic, leaf.number),
                tuple(new),
                history=tuple(exchanges[: len(exchanges) - len(new)]),
            )
        asked.update(turn.id for turn in new)
    if not asked:
        raise node.error(f"no user speaks in the topic {topic!r}")


def _find_way(leaf: TreeTurn, turns: dict[str, TreeTurn]) -> list[TreeTurn]:
    """The turns from the first one to this one."""
    way = [leaf]
    while parent := way[-1].parent:
        if parent not in turns:
            raise way[-1].node.error(
                f"the parent {parent!r} of the turn {way[-1].number!r} is no turn of this topic"
            )
        way.append(turns[parent])
    return way[::-1]


def _read_exchanges(topic: str, way: Sequence[TreeTurn]) -> list[Turn]:
    """The exchanges on a way; what a system says before the user first speaks is left out."""
    pairs = pair_turns(way, lambda turn: turn.is_user)
    return [_make_exchange(topic, question, replies) for question, replies in pairs]


def _make_exchange(topic: str, question: TreeTurn, replies: Sequence[TreeTurn]) -> Turn:
    answers = [reply.node.optional_text("response", "utterance") for reply in replies]
    provenance = [
        each.read_id() for reply in replies for each in reply.node.optional_items("provenance")
    ]
    labels: dict[str, object] = {"provenance": provenance} if provenance else {}
    if replies:
        labels["grounded"] = "yes" if provenance else "no"
    return Turn(
        id=format_turn(topic, question.number),
        question=question.node.require_text("utterance", "raw_utterance"),
        answer="\n".join(filter(None, answers)),
        labels=labels,
    )


@dataclass(frozen=True)
class _Year:
    """The names of a year's files: topics (`{kind}` of canonical results), rewrites by kind, and judgements."""

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
        "MS MARCO documents, KILT's Wikipedia and the Washington Post; the judgements are of whole documents",
    ),
    2022: _Year(
        _2022,
        {"manual": _2022, "automatic": "2022_automatic_evaluation_topics_tree_v1.0.json"},
        ("cast2022.qrel", "2022qrels.txt"),
        "MS MARCO V2, KILT's Wikipedia and the Washington Post",
    ),
}


class CastDataset(PublishedDataset):
    """TREC CAsT 2019 to 2022, from a clone of github.com/daltonj/treccastweb or from its folders 2019 to 2022.

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
        corpus: JSONL file of passages, as dataset=jsonl has them, with CAsT's ids; gives the
            canonical results texts.

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
        below = (path / str(year) / each for each in ("data", "data/evaluation"))
        super().__init__(folders=[path / str(year), *below, path], corpus=corpus)
        self._year = year
        self._files = _YEARS[year]
        self._topics = self._files.topics.format(kind=canonical)
        self._rewrites = {
            kind: name.format(kind=kind) for kind, name in self._files.rewrites.items()
        }
        self._canonical = canonical

    def explain_missing_corpus(self, domain: str) -> str:
        """What this year's passages are."""
        passages = self._files.passages
        return f"TREC CAsT {self._year} searches {passages}, which are not published with it: {self.no_corpus}"

    def list_files(self) -> Iterable[Path | None]:
        """The topics, the rewrites and the qrels of the year."""
        names = dict.fromkeys([self._topics, *self._rewrites.values()])
        return [*map(self.find, names), self.find(*self._files.qrels)]

    def read_contents(self) -> Contents:
        """Read the year's files. Raises DataError."""
        topics = self.require(self._topics)
        read = read_trees(topics) if self._year == 2022 else read_topics(topics, self._canonical)
        found = tuple(read)
        conversations = tuple(add_texts(found, self.corpus("default"))) if self._corpus else found
        grades = read_qrels(qrels := self.find(*self._files.qrels), conversations)
        note = (
            ""
            if qrels
            else f"TREC CAsT {self._year} was read without judgements: there is no {self._files.qrels[0]}."
        )
        return Contents(conversations, grades, self._read_rewrites(), note)

    def _read_rewrites(self) -> dict[str, dict[str, str]]:
        rewrites = {}
        for kind, name in self._rewrites.items():
            if path := self.find(name):
                texts = (
                    read_resolved(path)
                    if kind == "resolved"
                    else read_field(path, f"{kind}_rewritten_utterance")
                )
                rewrites[kind] = {name: text for name, text in texts.items() if text.strip()}
        return rewrites
