"""Three tools over pipelines: search, ask, rewrite. A model reads their docstrings."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import AfterValidator, Field

from convrag import (
    ConfigError,
    ConvragError,
    Passage,
    Pipeline,
    TurnRecord,
    UnknownName,
    __version__,
)
from convrag.sdk.data.transcript import Source as CitedSource, list_sources
from convrag.sdk.llm.streaming import replace_unusable
from convrag.sdk.secrets import redact
from convrag.sdk.tasks.turns import Session, TurnOptions

TakeTurn = Callable[[str, Callable[[], TurnRecord]], Awaitable[TurnRecord]]

INSTRUCTIONS = (
    "Tools over a collection of documents. `ask` answers a question from them with citations, and "
    "goes on with a conversation; `search` finds passages, for you to read; `rewrite` shows what "
    "would be searched for."
)

Text = Annotated[
    str,
    Field(description="The question as the user asked it.", min_length=1),
    AfterValidator(replace_unusable),
]
Count = Annotated[int, Field(description="How many passages to find.", ge=1, le=100)]
Id = Annotated[
    str,
    Field(description="The conversation to go on with, by its id; empty for none."),
    AfterValidator(replace_unusable),
]
Domain = Annotated[
    str,
    Field(description="The collection to search; needed only where there are several."),
    AfterValidator(replace_unusable),
]
Condition = Annotated[
    str,
    Field(
        description="What the fields of passages must be, as 'product=kettle and year>=2023'; "
        "empty for all passages.",
        max_length=2000,
    ),
    AfterValidator(replace_unusable),
]


@dataclass(frozen=True)
class Source:
    """A passage: answers cite it by `number`, as [1]; `place` says where it is, for people."""

    number: int
    text: str
    place: str
    title: str
    url: str
    id: str


@dataclass(frozen=True)
class Found:
    """The passages, best first, and the queries that were searched for."""

    passages: list[Source]
    queries: list[str]


@dataclass(frozen=True)
class Reply:
    """The answer, the passages that it cites, the queries, and the conversation's id."""

    answer: str
    citations: list[Source]
    queries: list[str]
    conversation: str


class Tools:
    """The tools of a server; `make_server` explains the arguments."""

    def __init__(
        self,
        pipelines: Mapping[str, Pipeline],
        domain: str | None,
        take_turn: TakeTurn,
        max_characters: int | None,
    ) -> None:
        self._pipelines = pipelines
        self._domain = domain
        self._take_turn = take_turn
        self._max_characters = max_characters
        self._conversations = next(iter(pipelines.values())).conversations

    async def search(
        self,
        question: Text,
        top_k: Count = 5,
        conversation: Id = "",
        domain: Domain = "",
        filter: Condition = "",
    ) -> Found:
        """Find passages of the documents for a question, with their places. Nothing is answered."""

        def find(pipeline: Pipeline, session: Session) -> TurnRecord:
            asked = session.make_question(
                question, hide_history=pipeline.settings.history == "none"
            )
            condition = pipeline.read_filter(filter, session.domain)
            options = TurnOptions(top_k=top_k, generate=False)
            return pipeline.answer(replace(asked, filter=condition), options)

        record = await self._run(find, question, conversation, domain)
        passages = [
            _describe(number, hit.passage) for number, hit in enumerate(record.hits, start=1)
        ]
        return Found(passages, [query.text for query in record.queries])

    async def ask(
        self,
        question: Text,
        conversation: Id = "",
        domain: Domain = "",
        filter: Condition = "",
    ) -> Reply:
        """Answer a question from the documents, with citations.

        Pass the reply's `conversation` to follow up on it.
        """
        sources: list[CitedSource] = []

        def take_turn(pipeline: Pipeline, session: Session) -> TurnRecord:
            record = pipeline.turn(session.id, question, filter=filter)
            sources.extend(list_sources(self._conversations.records(session.id)))
            return record

        record = await self._run(take_turn, question, conversation, domain)
        cited = [_describe(each.number, each.passage) for each in sources if each.cited]
        queries = [query.text for query in record.queries]
        return Reply(record.answer.text, cited, queries, record.conversation_id)

    async def rewrite(
        self, question: Text, conversation: Id = "", domain: Domain = ""
    ) -> list[str]:
        """Show what would be searched for: the question made standalone by its conversation.

        Nothing is searched.
        """

        def rewrite(pipeline: Pipeline, session: Session) -> TurnRecord:
            queries = pipeline.rewrite(session.id, question).queries
            return TurnRecord(session.id, "", session.domain, 1, question, queries=queries)

        record = await self._run(rewrite, question, conversation, domain)
        return [query.text for query in record.queries]

    async def _run(
        self,
        work: Callable[[Pipeline, Session], TurnRecord],
        question: str,
        id: str,
        domain: str,
    ) -> TurnRecord:
        """Do the work in a conversation, which is stored once it has a turn.

        Raises:
            ToolError: the work failed; the message says why.
        """
        try:
            self._check_length(question)
            # In a thread: it reads a database
            name, session = await asyncio.to_thread(self._find, id, domain)
            record = await self._take_turn(name, lambda: work(self._pipelines[name], session))
        except ConvragError as error:
            raise ToolError(redact(str(error))) from error
        if record.error:
            raise ToolError(redact(record.error))
        return record

    def _check_length(self, question: str) -> None:
        """Raise ConfigError if a question is too long."""
        limit = self._max_characters
        if limit is not None and len(question) > limit:
            raise ConfigError(
                f"question: {len(question)} characters are too many, the limit is {limit} "
                "(task.max_characters)"
            )

    def _find(self, id: str, domain: str) -> tuple[str, Session]:
        """Return a pipeline's name and a conversation, which may be new. Raises ConvragError."""
        default = next(iter(self._pipelines))
        if not id:
            return default, self._begin(default, domain)
        known = self._conversations.get(id)
        if known is None:
            raise ConfigError(f"there is no conversation {id!r}: leave it empty to begin one")
        name = known.model if known.model in self._pipelines else default
        return name, known

    def _begin(self, name: str, domain: str) -> Session:
        """Begin a conversation with a pipeline. Raises UnknownName."""
        pipeline = self._pipelines[name]
        chosen = domain or self._domain or ""
        if not chosen and len(pipeline.domains) == 1:
            chosen = pipeline.domains[0]
        if chosen not in pipeline.domains:
            raise UnknownName("domain", chosen, pipeline.domains)
        return self._conversations.begin(
            f"mcp-{secrets.token_hex(8)}",
            chosen,
            configuration=pipeline.configuration,
            model=name,
        )


def make_server(
    pipelines: Mapping[str, Pipeline],
    domain: str | None,
    take_turn: TakeTurn,
    max_characters: int | None = None,
) -> MCPServer[Any]:
    """Make a server with the three tools.

    Args:
        pipelines: the pipelines by name, the default first; they share their conversations.
        domain: the corpus for questions that name none.
        take_turn: takes a turn of the pipeline with a name, in a thread.
        max_characters: the characters that a question may have; None for any number.
    """
    tools = Tools(pipelines, domain, take_turn, max_characters)
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
