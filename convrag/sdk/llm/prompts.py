"""Prompt templates, in Jinja: `<|system|>`, `<|user|>` and `<|assistant|>` lines divide them into
messages.

A reply that counts only as a whole is asked for by `complete_whole`.

Personal statements of the user (`Question.profile`) are added to a prompt where there are some.
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
from convrag.api.errors import DataError, LLMError
from convrag.api.stage import LLM

if TYPE_CHECKING:
    from jinja2 import Template


__all__ = ["PromptTemplate", "add_complaint", "add_profile", "complete_whole", "format_profile"]

_DIVIDER = re.compile(r"^<\|(system|user|assistant)\|>[ \t]*\n", re.MULTILINE)


class MessageTemplate(NamedTuple):
    """The template of one message; `line` counts the lines of the file before it."""

    role: Role
    template: Template
    line: int


class PromptTemplate:
    """The template of a task's prompt, read from a plugin's package or from a user's file.

    Args:
        task: the name of the task ("rewrite"); the template is `<task>.jinja` in the package.
        package: the package that holds the template.
        path: a file to read instead.

    Raises:
        DataError: the file is missing, or its template is not valid; the message names the line.

    Example:
        >>> template = PromptTemplate("suggest", package="convrag.sdk.llm")
        >>> prompt = template.render({"temperature": 0.0}, question="Why?", answer="Steam.", titles=["Tea"], count=2)
        >>> prompt.task, prompt.messages[-1].role, dict(prompt.sampling)
        ('suggest', 'user', {'temperature': 0.0})
    """

    def __init__(self, task: str, *, package: str, path: Path | None = None) -> None:
        self.task = task
        self.path = path or Path(str(resources.files(package).joinpath(f"{task}.jinja")))
        try:
            self.source = self.path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise DataError(
                f"this prompt cannot be read ({error.strerror})", path=self.path
            ) from error
        except UnicodeDecodeError as error:
            at = error.object.count(b"\n", 0, error.start) + 1
            raise DataError(
                f"this is not UTF-8 ({error.reason}): save it as UTF-8", path=self.path, line=at
            ) from error
        self.messages = self._compile()

    @property
    def hash(self) -> str:
        """A hash of the template."""
        return blake2b(self.source.encode(), digest_size=8).hexdigest()

    def render(self, sampling: dict[str, Any] | None = None, **inputs: Any) -> Prompt:
        """Fill in the inputs. Messages are divided in the template, so no input can begin a new
        message.

        Raises DataError, naming the line, where the template fails: it uses an input that is not
        given, say.
        """
        messages = tuple(
            Message(role, self._fill(template, line, inputs))
            for role, template, line in self.messages
        )
        sampling = {name: value for name, value in (sampling or {}).items() if value is not None}
        return Prompt(self.task, messages, inputs, sampling)

    def _fill(self, template: Template, line: int, inputs: Mapping[str, Any]) -> str:
        try:
            return template.render(**inputs).strip()
        except Exception as error:
            within = [
                at
                for frame, at in walk_tb(error.__traceback__)
                if frame.f_code.co_filename == "<template>"
            ]
            at = line + within[-1] if within else None
            raise DataError(
                f"this prompt cannot be filled in: {error}", path=self.path, line=at
            ) from error

    def _compile(self) -> list[MessageTemplate]:
        """Divide the template into messages and compile each. Raises DataError, naming the line."""
        from jinja2 import StrictUndefined, TemplateSyntaxError
        from jinja2.sandbox import SandboxedEnvironment

        divided = bool(_DIVIDER.match(self.source))
        parts = _DIVIDER.split(self.source if divided else f"<|user|>\n{self.source}")
        environment = SandboxedEnvironment(
            undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        messages: list[MessageTemplate] = []
        line = 1 if divided else 0
        for role, text in zip(parts[1::2], parts[2::2], strict=True):
            try:
                template = environment.from_string(text)
            except TemplateSyntaxError as error:
                at = line + error.lineno
                raise DataError(
                    f"this is no template: {error.message}", path=self.path, line=at
                ) from error
            except (
                ValueError,
                RecursionError,
                MemoryError,
                SyntaxError,
            ) as error:  # 5,000 digits, or too deep
                raise DataError(
                    f"this is no template: {error}", path=self.path, line=line
                ) from error
            template.globals = dict(
                template.globals
            )  # each filling copies it, which takes long of Jinja's ChainMap
            messages.append(MessageTemplate(cast(Role, role), template, line))
            line += 1 + text.count("\n")
        return messages


def complete_whole(llm: LLM, prompt: Prompt, room: int = 0) -> str:
    """Ask for a reply that counts only as a whole: one that was cut is asked for once more, with
    four times the room.

    Args:
        llm: the language model.
        prompt: what is asked for. Where its sampling has max_tokens, they are kept.
        room: tokens that the reply needs; the llm's own max_tokens is raised to them.

    Raises:
        LLMError: the reply was cut again, or there is none.
    """
    reply = llm.complete(replace(prompt, room=room))
    if reply.finish_reason == "length" and "max_tokens" not in prompt.sampling:
        more = 4 * max(room, reply.completion_tokens)
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


def add_complaint(prompt: Prompt, reply: str, complaint: str) -> Prompt:
    """Make the prompt that asks once more: with the reply that is of no use, and with what is wrong
    with it.
    """
    more = (Message("assistant", reply), Message("user", complaint))
    return replace(prompt, messages=(*prompt.messages, *more), attempt=prompt.attempt + 1)


def format_profile(profile: Sequence[str]) -> str:
    """Format the statements as a list under its introduction; empty where there is no statement."""
    lines = [" ".join(statement.split()) for statement in profile]
    listed = "\n".join(f"- {line}" for line in lines if line)
    return f"{INTRODUCTION}\n{listed}" if listed else ""


def add_profile(prompt: Prompt, profile: Sequence[str]) -> Prompt:
    """Add the statements to the system message, or else to the beginning of the first message.

    The prompt stays as it is where there are none. Its inputs get them as `profile`, too, for LLM
    stages by rules.
    """
    if not (text := format_profile(profile)) or not prompt.messages:
        return prompt
    first, *others = prompt.messages
    parts = (first.content, text) if first.role == "system" else (text, first.content)
    messages = (Message(first.role, "\n\n".join(parts)), *others)
    return replace(prompt, messages=messages, inputs={**prompt.inputs, "profile": list(profile)})
