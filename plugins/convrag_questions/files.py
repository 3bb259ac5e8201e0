"""The files of an evaluation set: conversations, qrels, rewrites, and what they are about."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from convrag import ConfigError
from convrag.sdk.files import open_atomically
from convrag.sdk.identity import file_hash, hash_text
from convrag.sdk.question_sets import CONVERSATIONS, MANIFEST, QRELS, REWRITES, QuestionSet
from convrag_questions.conversation import WrittenConversation

_TEXTS = (CONVERSATIONS, QRELS, REWRITES)


def check_folder(folder: Path) -> None:
    """Raise ConfigError where a folder holds files that are not as task=questions wrote them: somebody edited them."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"task.path={folder}: this is a file; name the folder that the questions are written to")
    there = [name for name in _TEXTS if (folder / name).exists()]
    if not there:
        return
    written = QuestionSet.read(folder).files if (folder / MANIFEST).is_file() else {}
    if changed := [name for name in there if written.get(name) != file_hash(folder / name)]:
        raise ConfigError(
            f"task.path={folder}: {changed[0]} was not written by task=questions, or was edited since; choose another "
            "folder, or move this one away"
        )


def write_files(folder: Path, conversations: Sequence[WrittenConversation], corpora: Mapping[str, str]) -> None:
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
            judged = {passage.id: hash_text(passage.text).hex() for found in each.relevant for passage in found}
            passages.setdefault(each.domain, {}).update(judged)
        QuestionSet(
            {domain: corpora[domain] for domain in passages},
            passages,
            {each.id: each.domain for each in conversations},
            {name: file_hash(folder / name) for name in _TEXTS},
        ).write(folder)
    except OSError as error:
        raise ConfigError(f"task.path={folder} cannot be written to: {error.strerror or error}") from error


def format_turn_id(conversation: WrittenConversation, number: int) -> str:
    """The id of a turn, counted from 1, as dataset=jsonl makes it."""
    return f"{conversation.id}<::>{number}"


def _format_conversation(each: WrittenConversation) -> dict[str, Any]:
    turns = [{"question": turn.question, "answer": turn.answer, "kind": turn.kind} for turn in each.turns]
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
