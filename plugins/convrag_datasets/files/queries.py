"""Files of queries, which may be turns of conversations."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from convrag import Conversation, DataError, Turn
from convrag.sdk.data.utterances import split_utterances
from convrag_datasets.files.row import Row
from convrag_datasets.files.rows import Columns, read_rows
from convrag_datasets.files.turns import TurnRow, group_turns, split_turn_id


def read_queries(
    path: Path, domain: str, columns: Columns | None = None, *, with_history: bool = False
) -> tuple[Conversation, ...]:
    """Read the conversations of a file of queries.

    Queries with ids `conversation<::>turn` are grouped, others are conversations of one turn.

    Args:
        path: the file; of a text with several `|user|: ` lines, the last is the question.
        domain: the name of the corpus that all conversations are about.
        columns: the fields `id` and `text` whose columns have other names.
        with_history: whether the other lines are the conversation's earlier questions, and become
            turns where the file has no query of its own for them.

    Raises:
        DataError: a line has no id or question, an id occurs twice, or there is no query.
    """
    rows = read_rows(path, columns)
    conversations = group_turns(_read_turns(rows, domain, with_history=with_history))
    if not conversations:
        raise DataError("this file holds no queries", path=path)
    return conversations


def _read_turns(rows: Iterable[Row], domain: str, *, with_history: bool) -> Iterator[TurnRow]:
    for row in rows:
        turn_id = row.require_id("_id", "id")
        *earlier, question = split_utterances(row.require_text("text"))
        if not question.strip():
            raise row.error("the question is empty")
        conversation_id, number = split_turn_id(turn_id) or (turn_id, 1)
        history = tuple((text, "") for text in earlier) if with_history else ()
        yield TurnRow(row, conversation_id, number, Turn(turn_id, question), domain, history)
