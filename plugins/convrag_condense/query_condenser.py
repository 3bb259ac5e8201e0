"""The assistant's API for callers who keep the messages: `QueryCondenser`, and trimming."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from convrag import ConfigError, Message, Question, Turn
from convrag.sdk.tasks.configuration import compose_from_command
from convrag.sdk.tasks.turns import Wiring
from convrag_condense.rewriter import CondenseRewriter

AnyMessage = Message | Mapping[str, Any]
"""A message: an object with `role` and `content`, or a mapping with both."""

M = TypeVar("M", bound=AnyMessage)

_EVIDENCE = re.compile(r"\n+---\n\*\*(?:Further evidence|Evidence) from library:\*\*")
"""Where the evidence begins in a user's message, as answer_academic.jinja has it."""


class QueryCondenser:
    """Condenses follow-up questions, for callers who retrieve, prompt and keep the messages.

        condenser = QueryCondenser("llm=ollama")
        if condenser.should_condense(query, messages):
            query = condenser.condense_query(query, messages)

    It is `rewriter=condense_published`, with the seed's gate and prompt. Thread-safe.

    Args:
        overrides: as on the command line; they choose the model ("llm=claude", "llm.seed=1") and
            change the rewriter ("rewriter.short=5").

    Raises:
        ConfigError: an override is not valid, or chooses another rewriter.
        NotReady: something is missing: a key, a server, an extra.
    """

    def __init__(self, *overrides: str) -> None:
        config, command = compose_from_command("rewriter=condense_published", *overrides)
        wiring = Wiring(config, command)
        rewriter = wiring.get("rewriter")
        if not isinstance(rewriter, CondenseRewriter):
            chosen = wiring.describe_choice("rewriter")
            raise ConfigError(f"QueryCondenser is for rewriter=condense, not for {chosen}")
        wiring.check()
        wiring.prepare()
        self.rewriter = rewriter

    def should_condense(self, query: str, conversation_history: Sequence[AnyMessage] = ()) -> bool:
        """Return whether a question depends on the history, as the gate decides.

        It is false for the first question of a conversation.

        Raises:
            ConfigError: the question has no text, or a message no role or no text.
        """
        needed, _ = self.rewriter.decide(make_question(query, conversation_history))
        return needed

    def condense_query(self, query: str, conversation_history: Sequence[AnyMessage] = ()) -> str:
        """Condense a follow-up and its history to a question that stands alone.

        The language model is asked whatever the gate says, except for a first question. If it
        fails, the question itself is returned, and the reason is logged.

        Raises:
            ConfigError: as `should_condense`.
        """
        question = make_question(query, conversation_history)
        if not question.history:
            return query
        return self.rewriter.condense(question, {}).text


def make_question(query: str, messages: Sequence[AnyMessage]) -> Question:
    """Make the question of the turn that follows these messages. Raises ConfigError."""
    if not isinstance(query, str) or not query.strip():
        raise ConfigError(f"the question is {query!r}: it must be a text that is not empty")
    history = read_turns(messages)
    number = len(history) + 1
    return Question(query, turn_id=f"turn {number}", number=number, history=history)


def read_turns(messages: Iterable[AnyMessage]) -> tuple[Turn, ...]:
    """Read messages as turns, oldest first. Raises ConfigError.

    Each message of the user begins a turn, without the evidence that was added to it. Messages of
    the assistant are its answer. Other messages, and those before the first question, are left out.
    """
    questions: list[str] = []
    answers: list[list[str]] = []
    for number, message in enumerate(messages, 1):
        role, content = read_message(message, number)
        if role == "user":
            questions.append(_EVIDENCE.split(content, maxsplit=1)[0])
            answers.append([])
        elif role == "assistant" and answers:
            answers[-1].append(content)
    turns = zip(questions, answers, strict=True)
    return tuple(
        Turn(f"turn {number}", question, "\n\n".join(answer))
        for number, (question, answer) in enumerate(turns, 1)
    )


def read_message(message: AnyMessage, number: int) -> tuple[str, str]:
    """Return the role and the content of a message. Raises ConfigError, with its number."""
    if isinstance(message, Mapping):
        role, content = message.get("role"), message.get("content")
    else:
        role, content = getattr(message, "role", None), getattr(message, "content", None)
    if not isinstance(role, str) or not isinstance(content, str):
        raise ConfigError(
            f"message {number} of the history is {message!r}: it must have a role and a content, "
            "both texts"
        )
    return role, content


def trim_messages_for_context(
    messages: Sequence[M], max_messages: int = 20, max_chars: int = 8000
) -> list[M]:
    """Keep the system message, and the newest pairs of question and answer that fit.

    `generator=chat` trims its history by the same limits.

    Args:
        messages: objects with `role` and `content`, or mappings with both; oldest first.
        max_messages: the most messages after the system message.
        max_chars: the most characters of these messages together.

    Returns:
        The system messages at the beginning, and the newest pairs, whole and without a gap. The
        newest pair, or question without an answer, is kept whatever its length.

    Raises:
        ConfigError: a limit is below 1, or a message has no role or no text.
    """
    for name, limit in (("max_messages", max_messages), ("max_chars", max_chars)):
        if limit < 1:
            raise ConfigError(f"{name}={limit}: it must be at least 1")
    roles = []
    sizes = []
    for number, message in enumerate(messages, 1):
        role, content = read_message(message, number)
        roles.append(role)
        sizes.append(len(content))
    first = 0
    while first < len(roles) and roles[first] == "system":
        first += 1
    start = len(messages)
    for index in reversed(range(first, len(messages))):
        if roles[index] != "user":
            continue
        is_newest = start == len(messages)
        fits = len(messages) - index <= max_messages and sum(sizes[index:]) <= max_chars
        if not fits and not is_newest:
            break
        start = index
        if not fits:
            break
    return [*messages[:first], *messages[start:]]
