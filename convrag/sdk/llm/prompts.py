"""Prompts: templates in Jinja, the user's profile in them, and asking once more.

Lines `<|system|>`, `<|user|>` and `<|assistant|>` divide a template into messages. `add_profile`
adds personal statements of the user (`Question.profile`). `complete_whole` asks again for a reply
that was cut.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from importlib import resources
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from convrag.api.completions import Message, Prompt, Role
from convrag.api.errors import CutReply, DataError, LLMError
from convrag.api.stage import LLM
from convrag.sdk.llm.marks import protect_inputs

if TYPE_CHECKING:
    from jinja2 import Environment, Template

__all__ = ["PromptTemplate", "add_complaint", "add_profile", "complete_whole", "format_profile"]

_DIVIDER = re.compile(r"^<\|(system|user|assistant)\|>[ \t]*\n", re.MULTILINE)


class MessageTemplate(NamedTuple):
    """The template of one message.

    Args:
        role: of the message.
        template: of its text.
        line: the number of lines in the file before it.
    """

    role: Role
    template: Template
    line: int


class PromptTemplate:
    """The template of a task's prompt, read from a plugin's package or from a user's file.

    Args:
        task: the name of the task ("rewrite"); the template is `<task>.jinja` in the package.
        package: the package that holds the template.
        path: a file to read instead.
        name: the name of the template, if it is not the task's.

    Raises:
        DataError: the file is missing, or its template is not valid; the message names the line.

    Example:
        >>> template = PromptTemplate("suggest", package="convrag.sdk.llm")
        >>> inputs = {"question": "Why?", "answer": "Steam.", "titles": ["Tea"], "count": 2}
        >>> prompt = template.render({"temperature": 0.0}, **inputs)
        >>> prompt.task, prompt.messages[-1].role, dict(prompt.sampling)
        ('suggest', 'user', {'temperature': 0.0})
    """

    def __init__(
        self, task: str, *, package: str, path: Path | None = None, name: str = ""
    ) -> None:
        self.task = task
        self.path = path or Path(str(resources.files(package).joinpath(f"{name or task}.jinja")))
        self.source = self._read_source()
        self.messages = self._compile()

    @property
    def hash(self) -> str:
        """Return a hash of the template."""
        return blake2b(self.source.encode(), digest_size=8).hexdigest()

    def render(self, sampling: dict[str, Any] | None = None, **inputs: Any) -> Prompt:
        """Fill in the inputs. Only the template divides messages: no input can begin a new one.

        The messages show passages without what could be taken for a mark of the prompt (see
        `convrag.sdk.llm.marks`); the inputs of the prompt are as they are given.

        Raises:
            DataError: the template fails (it uses an input that is not given, say); the message
                names the line.
        """
        shown = protect_inputs(inputs)
        messages = tuple(Message(each.role, self._fill(each, shown)) for each in self.messages)
        given = {name: value for name, value in (sampling or {}).items() if value is not None}
        return Prompt(self.task, messages, inputs, given)

    def _read_source(self) -> str:
        try:
            return self.path.read_text(encoding="utf-8-sig")
        except OSError as error:
            message = f"this prompt cannot be read ({error.strerror})"
            raise DataError(message, path=self.path) from error
        except UnicodeDecodeError as error:
            message = f"this is not UTF-8 ({error.reason}): save it as UTF-8"
            line = error.object.count(b"\n", 0, error.start) + 1
            raise DataError(message, path=self.path, line=line) from error

    def _fill(self, message: MessageTemplate, inputs: Mapping[str, Any]) -> str:
        try:
            return message.template.render(**inputs).strip()
        except Exception as error:
            lines = [
                line
                for frame, line in walk_tb(error.__traceback__)
                if frame.f_code.co_filename == "<template>"
            ]
            problem = f"this prompt cannot be filled in: {error}"
            place = message.line + lines[-1] if lines else None
            raise DataError(problem, path=self.path, line=place) from error

    def _compile(self) -> list[MessageTemplate]:
        """Divide the template into messages and compile each. Raises DataError, naming the line."""
        from jinja2 import StrictUndefined
        from jinja2.sandbox import SandboxedEnvironment

        environment = SandboxedEnvironment(
            undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        is_divided = bool(_DIVIDER.match(self.source))
        source = self.source if is_divided else f"<|user|>\n{self.source}"
        line = 1 if is_divided else 0
        parts = _DIVIDER.split(source)
        messages: list[MessageTemplate] = []
        for role, text in zip(parts[1::2], parts[2::2], strict=True):
            template = self._compile_message(environment, text, line)
            messages.append(MessageTemplate(cast(Role, role), template, line))
            line += 1 + text.count("\n")
        return messages

    def _compile_message(self, environment: Environment, text: str, line: int) -> Template:
        """Compile a message that begins after so many lines. Raises DataError."""
        from jinja2 import TemplateSyntaxError

        try:
            template = environment.from_string(text)
        except TemplateSyntaxError as error:
            problem = f"this is not a template: {error.message}"
            raise DataError(problem, path=self.path, line=line + error.lineno) from error
        # A number of 5,000 digits, or too many brackets in each other.
        except (ValueError, RecursionError, MemoryError, SyntaxError) as error:
            problem = f"this is not a template: {error}"
            raise DataError(problem, path=self.path, line=line) from error
        # Each filling copies them, which takes long with Jinja's ChainMap.
        template.globals = dict(template.globals)
        return template


def complete_whole(llm: LLM, prompt: Prompt, room: int = 0) -> str:
    """Ask for a reply that counts only as a whole.

    A reply that was cut is asked for once more, with four times the room.

    Args:
        llm: the language model.
        prompt: the prompt. Where its sampling has max_tokens, they are kept.
        room: tokens that the reply needs; the llm's own max_tokens is raised to them.

    Raises:
        LLMError: the reply was cut again, or there is none.
    """
    may_have_more = "max_tokens" not in prompt.sampling
    try:
        reply = llm.complete(replace(prompt, room=room))
        tokens = reply.completion_tokens
        is_cut = reply.finish_reason == "length"
    except CutReply as error:
        if not may_have_more:
            raise
        tokens = error.tokens
        is_cut = True
    if is_cut and may_have_more:
        more = 4 * max(room, tokens)
        reply = llm.complete(replace(prompt, room=more, attempt=prompt.attempt + 1))
    if reply.finish_reason == "length":
        raise LLMError(
            "the reply was cut at max_tokens: raise llm.max_tokens, or the stage's own",
            model=reply.model,
        )
    return reply.text


INTRODUCTION = (
    "What is known of the user; use it where the question depends on it, and nowhere else:"
)
"""The line before the user's profile in a prompt."""


def add_complaint(prompt: Prompt, reply: str, complaint: str) -> Prompt:
    """Make the prompt that asks once more.

    Args:
        prompt: that was asked.
        reply: to it, which cannot be used.
        complaint: says what is wrong with the reply.
    """
    messages = (*prompt.messages, Message("assistant", reply), Message("user", complaint))
    return replace(prompt, messages=messages, attempt=prompt.attempt + 1)


def format_profile(profile: Sequence[str]) -> str:
    """Format the statements as a list under its introduction; empty where there is no statement."""
    statements = [" ".join(statement.split()) for statement in profile]
    lines = [f"- {statement}" for statement in statements if statement]
    return "\n".join([INTRODUCTION, *lines]) if lines else ""


def add_profile(prompt: Prompt, profile: Sequence[str]) -> Prompt:
    """Add the user's statements to the system message, or else before the first message.

    The prompt stays as it is where there are none. Its inputs get them as `profile`, too, for LLM
    stages by rules.
    """
    text = format_profile(profile)
    if not text or not prompt.messages:
        return prompt
    first, *others = prompt.messages
    if first.role == "system":
        content = f"{first.content}\n\n{text}"
    else:
        content = f"{text}\n\n{first.content}"
    messages = (Message(first.role, content), *others)
    return replace(prompt, messages=messages, inputs={**prompt.inputs, "profile": list(profile)})
