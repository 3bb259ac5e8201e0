"""Prompts are files: a Jinja template whose `<|system|>`, `<|user|>`, `<|assistant|>` lines divide it into messages."""

from __future__ import annotations

import re
from hashlib import blake2b
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from convrag.api.errors import DataError
from convrag.api.types import Message, Prompt, Role

if TYPE_CHECKING:
    from jinja2 import Template

_DIVIDER = re.compile(r"^<\|(system|user|assistant)\|>[ \t]*\n", re.MULTILINE)


class PromptTemplate:
    """One task's prompt, read from a plugin's package or from a file of the user's.

    Args:
        task: what the prompt asks for ("rewrite"); the template is `<task>.jinja` in the package.
        package: the package that holds the template.
        path: a file to use instead.

    Raises:
        DataError: the file is missing, or is no template, naming the line.
    """

    def __init__(self, task: str, *, package: str, path: Path | None = None) -> None:
        self.task = task
        self.path = path or Path(str(resources.files(package).joinpath(f"{task}.jinja")))
        try:
            self.source = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"this prompt cannot be read ({error})", path=self.path) from error
        self.messages = self._compile()

    @property
    def hash(self) -> str:
        """Identifies the wording."""
        return blake2b(self.source.encode(), digest_size=8).hexdigest()

    def render(self, sampling: dict[str, Any] | None = None, **inputs: Any) -> Prompt:
        """Fill in the inputs. The template was divided before, so no input can open a message of its own."""
        messages = tuple(Message(role, template.render(**inputs).strip()) for role, template in self.messages)
        given = {name: value for name, value in (sampling or {}).items() if value is not None}
        return Prompt(self.task, messages, inputs, given)

    def _compile(self) -> list[tuple[Role, Template]]:
        from jinja2 import StrictUndefined, TemplateSyntaxError
        from jinja2.sandbox import SandboxedEnvironment

        divided = bool(_DIVIDER.match(self.source))
        parts = _DIVIDER.split(self.source if divided else f"<|user|>\n{self.source}")
        environment = SandboxedEnvironment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
        messages: list[tuple[Role, Template]] = []
        line = 1 if divided else 0
        for role, text in zip(parts[1::2], parts[2::2], strict=True):
            try:
                messages.append((cast(Role, role), environment.from_string(text)))
            except TemplateSyntaxError as error:
                raise DataError(
                    f"this is no template: {error.message}", path=self.path, line=line + error.lineno
                ) from error
            line += 1 + text.count("\n")
        return messages
