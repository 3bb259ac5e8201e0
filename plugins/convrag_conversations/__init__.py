"""The conversations in a database: a file of SQLite, or a server that another plugin opens.

* `database`: reads and changes conversations.
* `sqlite`: the transactions on a file of SQLite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from convrag import hookimpl

if TYPE_CHECKING:
    from convrag.sdk.storage import ConversationStore  # imports SQLite, which --help does without


@hookimpl
def convrag_open_conversations(database: str) -> ConversationStore:
    """Open a path of SQLite's file, or an address."""
    from convrag_conversations.database import (
        ConversationDatabase,  # few commands keep conversations
    )

    return ConversationDatabase(database)
