"""Plans of conversations, their turns about passages that answer them, and their files."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

from convrag import ConfigError, Passage, Query, Retriever
from convrag.sdk.data.question_sets import CONVERSATIONS, MANIFEST, QRELS, REWRITES, QuestionSet
from convrag.sdk.files import open_atomically
from convrag.sdk.identity import file_hash, hash_text
from convrag.sdk.output.progress import track
from convrag.sdk.search.corpus import Corpus
from convrag.sdk.text.analysis import count_words
from convrag_questions.question import STYLES, Counts, Kind, Writer, WrittenTurn, has_quote

MIN_WORDS = 20
"""A passage with fewer words says too little to be asked about."""

AHEAD = 12
"""Passages of a document that a conversation may go on with."""

_ROUNDS = 20  # conversations about one document, at most


@dataclass(frozen=True)
class Plan:
    """A conversation to write, and the passages that it may be about, in their document's order."""

    id: str
    domain: str
    document: str
    passages: tuple[Passage, ...]


class Outline:
    """The documents of a corpus, and where their passages stand in it.

    Passages of one document have the same `metadata["document"]`, or else the same url or title; a
    passage with none of them is a document of its own. Passages without enough prose are left out.

    Args:
        corpus: the passages on disk.
    """

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.documents: dict[str, list[int]] = {}
        for position, passage in enumerate(
            track(corpus, f"Reading documents of {corpus.domain}", len(corpus))
        ):
            if is_prose(passage.text):
                self.documents.setdefault(name_document(passage), []).append(position)

    def read_passages(self, document: str, start: int) -> tuple[Passage, ...]:
        """Read up to `AHEAD` passages of a document from one on; the first follows the last."""
        positions = self.documents[document]
        order = [
            positions[(start + offset) % len(positions)]
            for offset in range(min(AHEAD, len(positions)))
        ]
        return tuple(self.corpus.get_by_position(order))

    def read_from(self, passage: Passage) -> tuple[Passage, ...]:
        """Read a passage and those that follow it in its document."""
        document = name_document(passage)
        for start in range(0, len(self.documents.get(document, ())), AHEAD):
            for offset, each in enumerate(self.read_passages(document, start)):
                if each.id == passage.id:
                    return self.read_passages(document, start + offset)
        return (passage,)


def plan_conversations(outlines: Mapping[str, Outline], seed: int) -> Iterator[Plan]:
    """Yield conversations to write, each document of each domain once before any comes again.

    The order is random.

    Args:
        outlines: domain -> its documents.
        seed: of the order, and of the passages that conversations begin with.
    """
    orders = {
        domain: sorted(outline.documents, key=partial(draw, str(seed), domain))
        for domain, outline in outlines.items()
    }
    used: set[tuple[str, str, int]] = set()
    number = 0
    for turn in range(_ROUNDS):
        for domain, document in _alternate(orders):
            size = len(outlines[domain].documents[document])
            start = draw(str(seed), domain, document, str(turn)) % size
            if turn >= size or (domain, document, start) in used:
                continue
            used.add((domain, document, start))
            number += 1
            yield Plan(
                f"q{number:04}", domain, document, outlines[domain].read_passages(document, start)
            )


def name_document(passage: Passage) -> str:
    """Name the document that a passage is from; its own id where nothing says so."""
    named = passage.metadata.get("document")
    return named if isinstance(named, str) and named else passage.url or passage.title or passage.id


def is_prose(text: str) -> bool:
    """Tell whether a text has enough words, mostly of letters: not a table, not a list of links."""
    letters = sum(map(str.isalpha, text))
    visible = len(text) - sum(map(str.isspace, text))
    return count_words(text) >= MIN_WORDS and letters >= 0.6 * visible


def _alternate(orders: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Yield the first document of each domain, then the second of each, and so on."""
    for index in range(max(map(len, orders.values()), default=0)):
        yield from (
            (domain, order[index]) for domain, order in orders.items() if index < len(order)
        )


def draw(*names: str) -> int:
    """Draw a number that looks random, and is the same each time for the same names."""
    text = "\0".join(names)
    return int.from_bytes(
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
    )


LEAST_TURNS = 2
"""A conversation that ends earlier tests nothing that a single question would not."""

_PASSAGES = 3  # that are tried for a turn
_PER_PASSAGE = 2  # turns in a row that one passage answers
_RELATED = 20  # passages that are looked at for a topic shift


@dataclass
class WrittenConversation:
    """A conversation with the passages that answer it.

    `relevant` are, for each turn, the passages that hold the sentence that its answer rests on.
    `turns` is empty where nothing came of the plan.
    """

    id: str
    domain: str
    turns: list[WrittenTurn] = field(default_factory=list)
    relevant: list[list[Passage]] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)


class ConversationWriter:
    """Writes conversations. May be used by several threads.

    Args:
        writer: writes and checks the questions.
        retriever: finds what a conversation may change its topic to.
        outlines: domain -> its documents.
        turns: how many a conversation has.
    """

    def __init__(
        self,
        writer: Writer,
        retriever: Retriever,
        outlines: Mapping[str, Outline],
        turns: int,
    ) -> None:
        self.writer = writer
        self.retriever = retriever
        self.outlines = outlines
        self.kinds = plan_kinds(turns)

    def write(self, plan: Plan) -> WrittenConversation:
        """Write a conversation, shorter where its documents give no more. Raises RunStopped."""
        made = WrittenConversation(plan.id, plan.domain)
        ahead = plan.passages
        for kind in self.kinds:
            turn = self._shift_topic(made) if kind == "topic_shift" else None
            turn = turn or self._write_turn("follow_up" if made.turns else "opening", ahead, made)
            if turn is None and made.turns and kind != "topic_shift":  # the document gives no more
                turn = None if made.counts.failed else self._shift_topic(made)
            if turn is None:
                break
            made.turns.append(turn)
            if turn.kind == "topic_shift":
                ahead = self.outlines[plan.domain].read_from(turn.passage)
            ahead = _skip_used(ahead, made.turns)
        if len(made.turns) < min(LEAST_TURNS, len(self.kinds)):
            made.turns.clear()
        made.relevant = [self._find_relevant(plan.domain, turn) for turn in made.turns]
        return made

    def _write_turn(
        self, kind: Kind, passages: Sequence[Passage], made: WrittenConversation
    ) -> WrittenTurn | None:
        history = [{"user": turn.question, "assistant": turn.answer} for turn in made.turns]
        style = STYLES[draw(made.id, str(len(history))) % len(STYLES)]
        for passage in passages[:_PASSAGES]:
            turn = self.writer.write(kind, style, passage, history, made.counts)
            if (
                turn or made.counts.failed
            ):  # a model that does not answer is not asked about the next passage
                return turn
        return None

    def _shift_topic(self, made: WrittenConversation) -> WrittenTurn | None:
        return self._write_turn("topic_shift", self._find_related(made), made)

    def _find_related(self, made: WrittenConversation) -> list[Passage]:
        """Find passages of other documents that are related to the last passage.

        The list begins with any of those that the retriever finds.

        The first would be the same for all conversations about a passage.
        """
        last = made.turns[-1]
        seen = {name_document(turn.passage) for turn in made.turns}
        query = Query(
            f"{last.passage.title} {last.quote}".strip(), turn_id=made.id, domain=made.domain
        )
        documents = self.outlines[made.domain].documents
        hits = self.retriever.retrieve([query], _RELATED)
        passages = []
        for hit in hits:
            document = name_document(hit.passage)
            if document in documents and document not in seen and is_prose(hit.passage.text):
                passages.append(hit.passage)
        start = draw(made.id, "shift") % len(passages) if passages else 0
        return [*passages[start:], *passages[:start]]

    def _find_relevant(self, domain: str, turn: WrittenTurn) -> list[Passage]:
        """Return the passage of a turn, and passages that overlap it with the same sentence."""
        outline = self.outlines[domain]
        document = name_document(turn.passage)
        positions = outline.documents.get(document, [])
        others = outline.corpus.get_by_position(positions) if len(positions) <= _NEIGHBOURS else []
        same = [
            each
            for each in others
            if each.id != turn.passage.id and has_quote(each.text, turn.quote)
        ]
        return [turn.passage, *same]


_NEIGHBOURS = 500  # passages of a document that are searched for the same sentence


def plan_kinds(turns: int) -> list[Kind]:
    """Plan the kinds of a conversation's questions: one of four or more changes its topic."""
    follow_ups: list[Kind] = ["follow_up"] * (turns - 1)
    kinds: list[Kind] = ["opening", *follow_ups]
    if turns >= 4:
        kinds[turns // 2] = "topic_shift"
    return kinds


def _skip_used(ahead: Sequence[Passage], turns: Sequence[WrittenTurn]) -> tuple[Passage, ...]:
    """Return the passages to go on with: the last one first, unless it has answered enough."""
    last = turns[-1].passage
    ids = [passage.id for passage in ahead]
    rest = tuple(ahead[ids.index(last.id) :]) if last.id in ids else (last, *ahead)
    answered = sum(turn.passage.id == last.id for turn in turns)
    return rest[1:] if answered >= _PER_PASSAGE else rest


_TEXTS = (CONVERSATIONS, QRELS, REWRITES)


def check_folder(folder: Path) -> None:
    """Raise ConfigError where somebody edited the files that task=questions wrote to a folder."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(
            f"task.path={folder}: this is a file; name the folder that the questions are written to"
        )
    there = [name for name in _TEXTS if (folder / name).exists()]
    if not there:
        return
    written = QuestionSet.read(folder).files if (folder / MANIFEST).is_file() else {}
    if changed := [name for name in there if written.get(name) != file_hash(folder / name)]:
        raise ConfigError(
            f"task.path={folder}: {changed[0]} was not written by task=questions, or was edited "
            "since; choose another folder, or move this one away"
        )


def write_files(
    folder: Path, conversations: Sequence[WrittenConversation], corpora: Mapping[str, str]
) -> None:
    """Write the files. The manifest comes last, so that a folder with one is whole.

    Args:
        folder: is made if it is missing.
        conversations: with turns.
        corpora: domain -> fingerprint of its corpus.

    Raises:
        ConfigError: the folder cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MANIFEST).unlink(missing_ok=True)
        _write_lines(folder / CONVERSATIONS, map(_dump, map(_format_conversation, conversations)))
        _write_lines(folder / QRELS, ["query-id\tcorpus-id\tscore", *_format_qrels(conversations)])
        _write_lines(folder / REWRITES, map(_dump, _format_rewrites(conversations)))
        passages: dict[str, dict[str, str]] = {}
        for each in conversations:
            judged = {
                passage.id: hash_text(passage.text).hex()
                for found in each.relevant
                for passage in found
            }
            passages.setdefault(each.domain, {}).update(judged)
        QuestionSet(
            {domain: corpora[domain] for domain in passages},
            passages,
            {each.id: each.domain for each in conversations},
            {name: file_hash(folder / name) for name in _TEXTS},
        ).write(folder)
    except OSError as error:
        raise ConfigError(
            f"task.path={folder} cannot be written to: {error.strerror or error}"
        ) from error


def format_turn_id(conversation: WrittenConversation, number: int) -> str:
    """Format the id of a turn, counted from 1, as dataset=jsonl makes it."""
    return f"{conversation.id}<::>{number}"


def _format_conversation(each: WrittenConversation) -> dict[str, Any]:
    turns = [
        {"question": turn.question, "answer": turn.answer, "kind": turn.kind} for turn in each.turns
    ]
    return {"id": each.id, "turns": turns}


def _format_qrels(conversations: Sequence[WrittenConversation]) -> Iterator[str]:
    for each in conversations:
        for number, passages in enumerate(each.relevant, 1):
            yield from (f"{format_turn_id(each, number)}\t{passage.id}\t1" for passage in passages)


def _format_rewrites(conversations: Sequence[WrittenConversation]) -> Iterator[dict[str, str]]:
    for each in conversations:
        for number, turn in enumerate(each.turns, 1):
            yield {"_id": format_turn_id(each, number), "text": turn.standalone}


def _dump(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False)


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with open_atomically(path) as file:
        file.writelines(f"{line}\n" for line in lines)
