"""The base of rewriters and searches that ask a language model for JSON."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from convrag.api.conversations import Question
from convrag.api.stage import LLM, Stage
from convrag.api.stages import Rewriter
from convrag.sdk.llm.prompts import PromptTemplate, add_profile
from convrag.sdk.llm.rewriter import format_exchanges
from convrag.sdk.llm.sampling import MaxTokens, Temperature

if TYPE_CHECKING:
    from pydantic import BaseModel

M = TypeVar("M", bound="BaseModel")


@dataclass(kw_only=True, eq=False)
class JsonStage(Stage):
    """The base of rewriters and searches that ask a language model for JSON.

    Args:
        llm: a language model.
        prompt: a Jinja file to use instead of the package's own.
        temperature: 0 gives the likeliest reply; None leaves it to the llm.
        max_tokens: the longest reply, in tokens; None leaves it to the llm.

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    libraries = ("pydantic",)
    without: ClassVar[str] = ""
    """The advice where there is no language model; empty for a stage that needs none."""
    wording = ""
    """The name of the prompt's file, next to the module of the class."""
    prompt_task = ""
    """The task of the prompt where it differs from the file's name; cached replies depend on it."""

    llm: LLM
    prompt: Path | None = None
    temperature: Temperature | None = 0.0
    max_tokens: MaxTokens | None = None

    def __post_init__(self) -> None:
        package = type(self).__module__.rpartition(".")[0]
        self.template = PromptTemplate(
            self.prompt_task or self.wording, package=package, path=self.prompt, name=self.wording
        )
        self.prompt_templates = (self.template,)
        self.sampling: dict[str, Any] = {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }

    def check(self) -> Iterator[str]:
        """Say that it needs a language model, where there is none."""
        if self.without and self.llm.tasks is not None:
            yield (
                "it asks a language model, and the llm is none: choose one "
                f"(llm=litellm llm.model=...), or {self.without}, which needs none"
            )

    def ask(self, question: Question, form: type[M], attempt: int = 0, **inputs: Any) -> M:
        """Ask about a question with its history; once more where the reply cannot be read.

        Args:
            question: of the conversation.
            form: of the reply.
            attempt: the number of a sample; the store keeps the reply to each by itself.
            **inputs: of the prompt, next to `question` and `history`.

        Raises:
            LLMError: there is no reply that can be read.
        """
        from convrag.sdk.llm.structured_output import ask_json

        history = format_exchanges(question.history)
        prompt = self.template.render(
            self.sampling, question=question.text, history=history, **inputs
        )
        prompt = add_profile(replace(prompt, attempt=attempt), question.profile)
        return ask_json(self.llm, prompt, form)


class JsonRewriter(JsonStage, Rewriter):
    """The base of rewriters that ask a language model for JSON."""

    without = "rewriter=auto"
