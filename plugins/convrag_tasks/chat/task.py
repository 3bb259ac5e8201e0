"""`task=chat`: a conversation at the terminal."""

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge
from omegaconf import DictConfig

from convrag import LLM, ConfigError, PromptTemplate, Task, UnknownName

_PLAIN = re.compile(
    r"(?!(?:true|false|null|nan|inf|infinity)$)[a-z_][\w-]*|\d{8}-\d{6}-[0-9a-f]{4}", re.I | re.A
)
"""Names that Hydra reads as texts."""


@dataclass(kw_only=True, eq=False)
class ChatTask(Task):
    """Talk at the terminal: see what is searched for, the sources, and what to ask next.

    Type a question, or a command: /help lists them. Each conversation is kept in a database, from
    which it goes on by its id, with the data set and the configuration that it was begun with.
    Lines may also be piped in.

    Args:
        conversation: id of the conversation to go on with, or the name of a new one; None begins
            one with a name of its own.
        conversations: the database of the conversations: an SQLite file, or an address as
            SQLAlchemy has it (postgresql+psycopg://user@host/database); None is the file
            conversations.db in the folder of the store.
        suggestions: the number of follow-up questions that the llm suggests after each answer; a
            language model does so in one more call. None is 3 without a language model, and 0 with
            one.
        domain: the corpus to talk about; needed where the data set has more than one.
        show: trace shows below each answer what the rewriter did and why (the gate's reasons), what
            was searched for, how many passages were found and shown, tokens, seconds.
        prompt: a Jinja file to use instead of convrag.sdk's suggest.jinja; it is given `question`,
            `answer`, `titles` (of passages that were found and not cited) and `count`.

    Raises:
        DataError: the prompt's file is missing or is not a template.
    """

    default_generator = "direct"

    conversation: str | None = None
    conversations: str | None = None
    suggestions: Annotated[int, Ge(0)] | None = None
    domain: str | None = None
    show: Literal["trace"] | None = None
    prompt: Path | None = None

    def __post_init__(self) -> None:
        self.template = PromptTemplate("suggest", package="convrag.sdk.llm", path=self.prompt)
        self.prompt_templates = (self.template,)

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Read questions and answer them until /quit or the end of the input.

        Returns:
            1 where the run was stopped, else 0.
        """
        from difflib import get_close_matches

        from convrag import Conversations, Pipeline
        from convrag.sdk.llm.follow_ups import suggest_follow_ups
        from convrag.sdk.tasks.configuration import check_configuration, read_settings
        from convrag.sdk.tasks.talks import describe_answering
        from convrag.sdk.tasks.turns import Wiring, ending_conversations
        from convrag_tasks.chat.conversation import ChatConversation, make_conversation_id
        from convrag_tasks.chat.inspection import Inspection
        from convrag_tasks.chat.line_input import make_reader
        from convrag_tasks.chat.loop import ChatLoop
        from convrag_tasks.chat.screen import Screen

        wiring = Wiring(config)
        conversations = Conversations(self.conversations or wiring.store.path / "conversations.db")
        pipeline = Pipeline.for_conversations(wiring, read_settings(config), conversations)
        llm = wiring.get("llm") if self.suggestions != 0 else None
        count = self._count_suggestions(llm)
        wiring.check()
        conversation_id = self.conversation or make_conversation_id()
        if existing := conversations.get(conversation_id):
            check_configuration(existing, pipeline.configuration)
        domain = self._choose_domain(existing.domain if existing else self.domain, pipeline.domains)
        wiring.prepare()

        screen = Screen(trace=self.show == "trace")
        reader = make_reader(
            wiring.store.path / "chat_history", lambda: loop.commands, plain=screen.is_plain
        )

        if answering := describe_answering(wiring):
            screen.print_line(answering, "dim")
        if self.conversation and not existing:
            similar = get_close_matches(conversation_id, conversations.ids())
            if similar:
                screen.print_line(f"Conversations with a similar name: {', '.join(similar)}.")
        session = conversations.begin(conversation_id, domain, configuration=pipeline.configuration)
        chat = ChatConversation(pipeline, screen, session)
        suggest = None
        if llm and count:
            suggest = partial(suggest_follow_ups, llm, self.template, count=count)
        loop = ChatLoop(chat, suggest, Inspection(chat, folder))
        with ending_conversations(
            [pipeline.audience.observers], lambda line: screen.print_line(line, "dim")
        ):
            status = loop.run(reader)
        if chat.records:
            screen.print_line("To go on:", "dim")
            command = format_resume_command(sys.argv[1:], chat.id)
            screen.console.print(command, soft_wrap=True)  # so that it can be pasted
        return status

    def _count_suggestions(self, llm: LLM | None) -> int:
        """Return how many questions are suggested after an answer."""
        if self.suggestions is not None:
            return self.suggestions
        has_model = llm is not None and llm.tasks is None
        return 0 if has_model else 3

    def _choose_domain(self, domain: str | None, known: Sequence[str]) -> str:
        """Choose the corpus to talk about.

        Raises:
            ConfigError: it is unknown, not chosen, or not the conversation's.
        """
        if domain is None and len(known) > 1:
            raise ConfigError(
                f"task.domain=...: choose the corpus to talk about: {', '.join(known)}"
            )
        chosen = known[0] if domain is None else domain
        if chosen not in known:
            raise UnknownName("task.domain: corpus", chosen, known)
        if self.domain not in (None, chosen):
            raise ConfigError(
                f"task.domain={self.domain}: this conversation is about {chosen}; begin another one"
            )
        return chosen


def format_resume_command(arguments: Sequence[str], conversation_id: str) -> str:
    """Format the command of these arguments, with the conversation to go on with.

        task=chat rewriter=mmr -> python -m convrag task=chat rewriter=mmr task.conversation=moon

    It has no secret: a command with one is refused before it begins.
    """
    kept = [each for each in arguments if not each.lstrip("+").startswith("task.conversation=")]
    return shlex.join(
        ["python", "-m", "convrag", *kept, f"task.conversation={_quote_value(conversation_id)}"]
    )


def _quote_value(text: str) -> str:
    """Quote a text so that Hydra reads it as that text; a plain name stays as it is."""
    if _PLAIN.fullmatch(text):
        return text
    # backslashes count only before a reference, a quotation mark, and the end
    escaped = re.sub(r"(\\*)\$\{", r"\1\1\\${", text)
    escaped = re.sub(r"(\\*)'", r"\1\1\\'", escaped)
    escaped = re.sub(r"\\+$", r"\g<0>\g<0>", escaped)
    return f"'{escaped}'"
