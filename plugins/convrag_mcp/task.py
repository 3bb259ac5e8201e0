"""`task=mcp`: the tools over standard input and output, as assistants and editors start them."""

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from omegaconf import DictConfig

from convrag import Task, TurnRecord
from convrag.sdk.llm.streaming import Stream


@dataclass(kw_only=True, eq=False)
class McpTask(Task):
    """Offer search, ask and rewrite to an assistant or an editor, by the Model Context Protocol over standard input.

    A client starts the command, and ends it by closing its input. docs/mcp.md has the configuration
    of clients. task=serve offers the same tools at /mcp.

    Args:
        domain: the corpus that questions are about where a call names none.
        conversations: where conversations are kept: a file of SQLite, or an address as SQLAlchemy
            has it; by default conversations.db in the store.
    """

    requires: ClassVar[Mapping[str, str]] = {"mcp": "convrag[mcp]"}

    domain: str | None = None
    conversations: str | None = None

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Serve until the client closes the input. The output is the client's: other prints go to
        standard error.
        """
        from convrag import Conversations, Pipeline
        from convrag.sdk.output.console import make_console
        from convrag.sdk.tasks.configuration import read_settings
        from convrag.sdk.tasks.turns import Wiring, ending_conversations
        from convrag_mcp.tools import make_server

        wiring = Wiring(config)
        output = os.dup(1)
        os.dup2(
            2, 1
        )  # what libraries print while stages are made ready; the SDK does so while it serves
        with closing(
            Conversations(self.conversations or wiring.store.path / "conversations.db")
        ) as kept:
            pipeline = Pipeline.for_conversations(wiring, read_settings(config), kept, "convrag")
            wiring.check()
            wiring.prepare(for_new_questions=True)
            sys.stdout.flush()
            os.dup2(output, 1)
            with ending_conversations([pipeline.audience.observers], make_console(stderr=True).print):
                make_server({"convrag": pipeline}, self.domain, take_turn).run("stdio")
        return 0


async def take_turn(name: str, work: Callable[[], TurnRecord]) -> TurnRecord:
    """Take a turn in a thread; it is cancelled with the task."""
    turn = Stream[None, TurnRecord](lambda _: work())
    async for _ in turn:
        pass
    return turn.record
