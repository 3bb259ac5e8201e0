"""`dataset=chat_csv`: chats with a customer and an agent, and the articles that agents linked in
their replies.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

from convrag import Conversation, DataError, Dataset, Passage, Turn
from convrag.sdk.lazy import collect_problems


class ChatDataset(Dataset):
    """Read a help desk's export: each chat is a conversation, and the articles that an agent links are relevant.

    Args:
        chats: CSV with a row for each message, in order: chat, who (customer or agent), text,
            article (an id or empty).
        articles: CSV with the columns id, title and text.
    """

    def __init__(self, *, chats: Path, articles: Path) -> None:
        self.chats = chats
        self.articles = articles

    def check(self) -> list[str]:
        """Say before the first turn what is wrong with the files."""
        return collect_problems(
            lambda: list(self.conversations()), lambda: list(self.corpus("default"))
        )

    def conversations(self) -> Iterator[Conversation]:
        """Yield the chats in the order of the file."""
        for chat, turns in self._read_chats().items():
            yield Conversation(chat, tuple(turns))

    def corpus(self, domain: str) -> Iterator[Passage]:
        """Yield the articles."""
        for row in _read_rows(self.articles, ("id", "title", "text")):
            yield Passage(row["id"], row["text"], title=row["title"])

    def qrels(self) -> Mapping[str, Mapping[str, int]]:
        """Return the articles that the agents linked: turn id -> article id -> 1."""
        turns = (turn for turns in self._read_chats().values() for turn in turns)
        return {
            turn.id: dict.fromkeys(turn.labels["articles"], 1)
            for turn in turns
            if turn.labels["articles"]
        }

    def _read_chats(self) -> dict[str, list[Turn]]:
        """Read the turns of each chat: what the customer writes, and the agent's reply to it."""
        messages: dict[str, list[dict[str, str]]] = {}
        for row in _read_rows(self.chats, ("chat", "who", "text", "article")):
            messages.setdefault(row["chat"], []).append(row)
        chats = {chat: list(_pair_messages(chat, rows)) for chat, rows in messages.items()}
        return {chat: turns for chat, turns in chats.items() if turns}


def _pair_messages(chat: str, messages: list[dict[str, str]]) -> Iterator[Turn]:
    """Make a turn of each reply. Messages that follow each other belong together; a greeting
    replies to nothing.
    """
    asked, number = "", 0
    for who, group in groupby(messages, key=lambda row: row["who"]):
        rows = list(group)
        said = " ".join(row["text"] for row in rows)
        if who == "customer":
            asked = said
        elif asked.strip():
            number += 1
            articles = [row["article"] for row in rows if row["article"]]
            yield Turn(f"{chat}<::>{number}", asked, said, labels={"articles": articles})


def _read_rows(path: Path, columns: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file. Raises DataError, which names the line, where it cannot be
    read.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, strict=True)
            if lacking := [column for column in columns if column not in (rows.fieldnames or ())]:
                raise DataError(f"the heading lacks {', '.join(lacking)}", path=path, line=1)
            for row in rows:
                if any(row[column] is None for column in columns):
                    raise DataError(
                        f"this row must have {', '.join(columns)}", path=path, line=rows.line_num
                    )
                yield row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"this file cannot be read: {error}", path=path) from error
