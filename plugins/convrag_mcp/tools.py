"""Three tools over pipelines: search, ask, rewrite. Their docstrings are what a model reads of
them.
"""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from convrag import (
    ConfigError,
    ConvragError,
    Passage,
    Pipeline,
    TurnRecord,
    UnknownName,
    __version__,
)
from convrag.sdk.data.transcript import list_sources
from convrag.sdk.secrets import redact
from convrag.sdk.tasks.turns import Session, TurnOptions

TakeTurn = Callable[[str, Callable[[], TurnRecord]], Awaitable[TurnRecord]]

INSTRUCTIONS = (
    "Tools over a collection of documents. `ask` answers a question from them with citations, and goes on with a "
    "conversation; `search` finds passages, for you to read; `rewrite` shows what would be searched for."
)

Text = Annotated[str, Field(description="The question as the user asked it.", min_length=1)]
Count = Annotated[int, Field(description="How many passages to find.", ge=1, le=100)]
Id = Annotated[str, Field(description="The conversation to go on with, by its id; empty for none.")]
Domain = Annotated[
    str, Field(description="The collection to search; needed only where there are several.")
]


@dataclass(frozen=True)
class Source:
    """A passage: `number` is by which an answer cites it, as [1]; `place` is where it stands, for people."""

    number: int
    text: str
    place: str
    title: str
    url: str
    id: str


@dataclass(frozen=True)
class Found:
    """The passages, best first, and what was searched for."""

    passages: list[Source]
    queries: list[str]


@dataclass(frozen=True)
class Reply:
    """The answer, the passages that it cites, what was searched for, and the id with which the conversation goes on."""

    answer: str
    citations: list[Source]
    queries: list[str]
    conversation: str


class Tools:
    """The tools; `make_server` explains the arguments."""

    def __init__(
        self, pipelines: Mapping[str, Pipeline], domain: str | None, take_turn: TakeTurn
    ) -> None:
        self._pipelines = pipelines
        self._domain = domain
        self._take_turn = take_turn
        self._conversations = next(iter(pipelines.values())).conversations

    async def search(
        self, question: Text, top_k: Count = 5, conversation: Id = "", domain: Domain = ""
    ) -> Found:
        """Find passages of the documents for a question, with the place where each stands. Nothing
        is answered.
        """

        def find(pipeline: Pipeline, session: Session) -> TurnRecord:
            asked = session.make_question(
                question, hide_history=pipeline.settings.history == "none"
            )
            return pipeline.answer(asked, TurnOptions(top_k=top_k, generate=False))

        record = await self._run(find, conversation, domain)
        passages = [
            _describe(number, hit.passage) for number, hit in enumerate(record.hits, start=1)
        ]
        return Found(passages, [query.text for query in record.queries])

    async def ask(self, question: Text, conversation: Id = "", domain: Domain = "") -> Reply:
        """Answer a question from the documents, with citations. Pass the reply's `conversation` to
        follow up on it.
        """
        record = await self._run(
            lambda pipeline, session: pipeline.turn(session.id, question), conversation, domain
        )
        sources = list_sources(self._conversations.records(record.conversation_id))
        cited = [_describe(each.number, each.passage) for each in sources if each.cited]
        return Reply(
            record.answer.text,
            cited,
            [query.text for query in record.queries],
            record.conversation_id,
        )

    async def rewrite(
        self, question: Text, conversation: Id = "", domain: Domain = ""
    ) -> list[str]:
        """Show what would be searched for: the question made standalone by its conversation.
        Nothing is searched.
        """

        def rewrite(pipeline: Pipeline, session: Session) -> TurnRecord:
            queries = pipeline.rewrite(session.id, question).queries
            return TurnRecord(session.id, "", session.domain, 1, question, queries=queries)

        return [query.text for query in (await self._run(rewrite, conversation, domain)).queries]

    async def _run(
        self, work: Callable[[Pipeline, Session], TurnRecord], id: str, domain: str
    ) -> TurnRecord:
        """Do the work in a conversation, which is kept once it has a turn. Raises ToolError for our
        errors.
        """
        try:
            name, session = self._find(id, domain)
            record = await self._take_turn(name, lambda: work(self._pipelines[name], session))
        except ConvragError as error:
            raise ToolError(redact(str(error))) from error
        if record.error:
            raise ToolError(redact(record.error))
        return record

    def _find(self, id: str, domain: str) -> tuple[str, Session]:
        """The conversation, which may be new, and the name of its pipeline. Raises ConvragError."""
        name, pipeline = next(iter(self._pipelines.items()))
        if id:
            if (known := self._conversations.get(id)) is None:
                raise ConfigError(f"there is no conversation {id!r}: leave it empty to begin one")
            return known.model if known.model in self._pipelines else name, known
        domains = pipeline.domains
        chosen = domain or self._domain or (domains[0] if len(domains) == 1 else "")
        if chosen not in domains:
            raise UnknownName("domain", chosen, domains)
        new, configuration = f"mcp-{secrets.token_hex(8)}", pipeline.configuration
        return name, self._conversations.begin(new, chosen, configuration=configuration, model=name)


def make_server(
    pipelines: Mapping[str, Pipeline], domain: str | None, take_turn: TakeTurn
) -> MCPServer[Any]:
    """Make a server with the three tools.

    Args:
        pipelines: by name, the default first; they keep their conversations in one database.
        domain: the corpus that questions are about where a call names none.
        take_turn: takes a turn of the pipeline with a name, in a thread.
    """
    tools = Tools(pipelines, domain, take_turn)
    server: MCPServer[Any] = MCPServer(
        "convrag", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING"
    )
    server.add_tool(tools.ask)
    for tool in (tools.search, tools.rewrite):
        server.add_tool(
            tool, annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False)
        )
    return server


def _describe(number: int, passage: Passage) -> Source:
    return Source(number, passage.text, passage.place, passage.title, passage.url, passage.id)
