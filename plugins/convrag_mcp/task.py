"""`task=mcp`: the tools over standard input and output, as assistants and editors start them."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from omegaconf import DictConfig

from convrag import Task, TurnRecord
from convrag.sdk.llm.streaming import Stream


@dataclass(kw_only=True, eq=False)
class McpTask(Task):
    """Offer search, ask and rewrite to assistants and editors, by the Model Context Protocol.

    It uses standard input and output. A client starts the command, and ends it by closing its
    input. docs/mcp.md has the configuration of clients. task=serve offers the same tools at /mcp.

    Args:
        domain: the corpus for questions that name none.
        conversations: where conversations are stored: a file of SQLite, or an address as SQLAlchemy
            has it; by default conversations.db in the store.
    """

    requires: ClassVar[Mapping[str, str]] = {"mcp": "convrag[mcp]"}
    default_generator = "direct"

    domain: str | None = None
    conversations: str | None = None

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Serve until the client closes the input.

        Standard output is the client's, so all other prints go to standard error.
        """
        from convrag import Conversations, Pipeline
        from convrag.sdk.output.console import make_console
        from convrag.sdk.tasks.configuration import read_settings
        from convrag.sdk.tasks.turns import Wiring, ending_conversations
        from convrag_mcp.tools import make_server

        wiring = Wiring(config)
        database = self.conversations or wiring.store.path / "conversations.db"
        with closing(Conversations(database)) as conversations:
            with _redirect_output():  # while it serves, the SDK does the same
                pipeline = Pipeline.for_conversations(
                    wiring, read_settings(config), conversations, "convrag"
                )
                wiring.check()
                wiring.prepare(for_new_questions=True)
            with ending_conversations(
                [pipeline.audience.observers], make_console(stderr=True).print
            ):
                make_server({"convrag": pipeline}, self.domain, take_turn).run("stdio")
        return 0


@contextmanager
def _redirect_output() -> Iterator[None]:
    """Let what libraries print during the block go to standard error."""
    output = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(output, 1)
        os.close(output)


async def take_turn(name: str, work: Callable[[], TurnRecord]) -> TurnRecord:
    """Take a turn in a thread; it is cancelled with the task."""
    turn = Stream[None, TurnRecord](lambda _: work())
    async for _ in turn:
        pass
    return turn.record
