"""A chat for the tests: stages that do as they are told, and lines that are given beforehand."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from convrag.api.answers import Answer
from convrag.api.conversations import Question
from convrag.api.errors import LLMError, RunStopped
from convrag.api.evidence import Evidence
from convrag.api.queries import Rewrite
from convrag.api.records import TurnRecord
from convrag.api.stage import LLM
from convrag.api.stages import Generator, Rewriter
from convrag.concurrency.streaming import current_listener
from convrag.sdk.llm.follow_ups import suggest_follow_ups
from convrag.sdk.llm.prompts import PromptTemplate
from convrag.turn.conversations import Conversations
from convrag.turn.pipeline import Pipeline
from convrag_tasks.chat.conversation import ChatConversation
from convrag_tasks.chat.inspection import Inspection
from convrag_tasks.chat.line_input import Later
from convrag_tasks.chat.loop import ChatLoop
from convrag_tasks.chat.screen import Screen
from toys import EvenRanker, ListRetriever, PlainContext

Typed = str | type[BaseException]


class Adds(Rewriter):
    """Adds the last question."""

    def rewrite(self, question: Question) -> Rewrite:
        return Rewrite.of(
            " ".join([question.text, *(turn.question for turn in question.history[-1:])])
        )


class Streams(Generator):
    """Says the question in two pieces, cites its first passage, and numbers from 7.

    `raises` is raised in the midst; "stop" and "BREAK" in a question do so, too.
    """

    streams = True

    def __init__(self) -> None:
        self.raises: BaseException | None = None
        self.histories: list[int] = []

    def generate(self, question: Question, evidence: Evidence) -> Answer:
        if "stop" in question.text:
            raise RunStopped("the cost limit is reached")
        self.histories.append(len(question.history))
        first = evidence.items[0].passage
        if listener := current_listener():
            listener("It is ")
            if self.raises or "BREAK" in question.text:
                raise self.raises or LLMError("the stream broke")
            listener(f"{question.text} [7][9]")
        text = f"It is {question.text} [7]"
        return Answer(
            text, (first.id,), {"numbers": {first.id: 7, evidence.items[1].passage.id: 8}}
        )


class Lines:
    """Gives lines, and raises exceptions, one after the other; then the input ends."""

    def __init__(self, *lines: Typed, typed: str = "", leaves_at_interrupt: bool = False) -> None:
        self.lines: Iterator[Typed] = iter(lines)
        self.typed = typed
        self.leaves_at_interrupt = leaves_at_interrupt

    def read(self, later: Later | None = None) -> str | None:
        if later:
            later.show()
        line = next(self.lines, None)
        if line is None or isinstance(line, str):
            return line and line.strip()
        raise line


SUGGESTIONS = "1. Why so?\n- What else?\n\nWhy so?\n3) And then?\nToo many?"


class Chat:
    """A chat about three passages, p0 to p2, in a database in a folder."""

    def __init__(self, folder: Path, llm: LLM | None = None) -> None:
        self.generator = Streams()
        self.conversations = Conversations(folder / "conversations.db")
        self.pipeline = Pipeline(
            rewriter=Adds(),
            retriever=ListRetriever(),
            reranker=EvenRanker(),
            context=PlainContext(),
            generator=self.generator,
            conversations=self.conversations,
        )
        self.lines = Lines()
        session = self.conversations.begin("talk", "default")
        self.chat = ChatConversation(self.pipeline, Screen(), session)
        template = PromptTemplate("suggest", package="convrag.sdk.llm")
        suggest = partial(suggest_follow_ups, llm, template, count=3) if llm else None
        self.loop = ChatLoop(self.chat, suggest, Inspection(self.chat, folder))

    def type(self, *lines: Typed, **options: str | bool) -> int:
        self.lines = Lines(*lines, **options)  # type: ignore[arg-type]
        return self.loop.run(self.lines)

    @property
    def kept(self) -> list[TurnRecord]:
        """The turns in the database."""
        return self.conversations.records("talk")

    @property
    def questions(self) -> list[str]:
        return [record.original_query for record in self.kept]
