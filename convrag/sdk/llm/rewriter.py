"""The base of rewriters that ask an LLM once: the prompt, cleaning the reply, and the fallback to
the question.

Follow-up questions that an LLM suggests are read in the same way.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from convrag.api.conversations import Question, Turn
from convrag.api.errors import LLMError
from convrag.api.queries import Rewrite
from convrag.api.records import TurnRecord
from convrag.api.stage import LLM, Stage
from convrag.api.stages import Rewriter
from convrag.sdk.llm.prompts import PromptTemplate, add_profile

if TYPE_CHECKING:
    from pydantic import BaseModel

M = TypeVar("M", bound="BaseModel")

_LABEL = re.compile(
    r"""^(?:
        (?:(?:sure|okay|certainly|here\s+is|here['’]s|the|your|rewritten|standalone|stand-alone|self-contained
            |reformulated|rephrased|condensed|revised|final|new|search)[\s,.!]*)*
        (?:question|query|rewrite|output)\s*:\s*
    )+""",
    re.IGNORECASE | re.VERBOSE,
)
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»", "„": "“"}

MAX_CHARACTERS = 400
"""The longest rewrite, unless twice the question is longer. A longer reply is an answer or an
explanation.
"""


class LLMRewriter:
    """Rewrites a question with one call of an LLM. If that fails, the rewrite is the question, with
    the reason.

    Args:
        llm: the language model.
        template: the prompt for the task "rewrite".
        sampling: parameters of the call (temperature, max_tokens, ...); for None, the llm's own
            value is used.
    """

    def __init__(self, llm: LLM, template: PromptTemplate, **sampling: Any) -> None:
        self.llm = llm
        self.template = template
        self.sampling = sampling

    def rewrite(self, question: Question, trace: Mapping[str, Any], **inputs: Any) -> Rewrite:
        """Ask the LLM for a rewrite. The prompt mentions the question's profile where it has one.

        Args:
            question: the question to rewrite.
            trace: the trace of the rewriter; the prompt's hash and the model's name are added.
            inputs: the inputs of the template besides `question`, which llm=extractive reads, too;
                `history` comes from `format_exchanges`.
        """
        prompt = add_profile(
            self.template.render(self.sampling, question=question.text, **inputs), question.profile
        )
        trace = {**trace, "prompt": self.template.hash}
        try:
            completion = self.llm.complete(prompt)
        except LLMError as error:
            return Rewrite.of(question.text, fallback=str(error), **trace)
        text = clean_reply(completion.text)
        reason = _find_defect(text, question.text)
        if completion.finish_reason == "length" and "\n" not in completion.text.strip():
            reason = "the reply was cut at max_tokens"
        if reason:
            return Rewrite.of(question.text, fallback=reason, **trace, reply=completion.text)
        return Rewrite.of(text, **trace, model=completion.model)


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
    """What to choose where there is no language model; empty for a stage that does without."""
    wording = ""
    """The name of the prompt's file, beside the module of the class."""

    llm: LLM
    prompt: Path | None = None
    temperature: float | None = 0.0
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        self.template = PromptTemplate(
            self.wording, package=type(self).__module__.rpartition(".")[0], path=self.prompt
        )
        self.prompt_templates = (self.template,)
        self.sampling: dict[str, Any] = {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }

    def check(self) -> Iterator[str]:
        """It needs a language model."""
        if self.without and self.llm.tasks is not None:
            yield (
                "it asks a language model, and the llm is none: choose one (llm=litellm llm.model=...), "
                f"or {self.without}, which needs none"
            )

    def ask(self, question: Question, form: type[M], attempt: int = 0, **inputs: Any) -> M:
        """Ask about a question with its history, once, or twice where the reply cannot be read.
        Raises LLMError.

        Each `attempt` is another sample of the reply, which the store remembers by itself.
        """
        from convrag.sdk.llm.structured_output import ask_json

        history = format_exchanges(question.history)
        prompt = self.template.render(
            self.sampling, question=question.text, history=history, **inputs
        )
        return ask_json(
            self.llm, add_profile(replace(prompt, attempt=attempt), question.profile), form
        )


class JsonRewriter(JsonStage, Rewriter):
    """The base of rewriters that ask a language model for JSON."""

    without = "rewriter=auto"


def format_exchanges(turns: Iterable[Turn]) -> list[dict[str, str]]:
    """Format turns as the `history` of a prompt: a `user` and an `assistant` text for each, in the
    given order.
    """
    return [{"user": turn.question, "assistant": turn.answer} for turn in turns]


def _find_defect(text: str, question: str) -> str:
    """Say why a cleaned reply is no question; empty if it may be one."""
    if not text:
        return "the reply holds no question"
    if len(text) > max(MAX_CHARACTERS, 2 * len(question)):
        return f"the reply is no question: it has {len(text)} characters"
    return ""


def clean_reply(reply: str) -> str:
    """Return the first line of a reply that is not empty without labels ("Standalone question:"),
    quotes and markup.
    """
    for line in reply.splitlines():
        if line.strip().startswith("```"):
            continue
        text = _strip_quotes(_LABEL.sub("", line.replace("**", "").strip()))
        if text:
            return text
    return ""


def _strip_quotes(text: str) -> str:
    """Remove quotation marks around the whole text; those inside stay."""
    while len(text) > 1 and _QUOTES.get(text[0]) == text[-1] and text[0] not in text[1:-1]:
        text = text[1:-1].strip()
    return text if text.strip("\"'`“”") else ""


_LIST_MARK = re.compile(r"^[\s*•-]*(?:\d+[.)](?!\d)[\s*]*)?")


def suggest_follow_ups(
    llm: LLM, template: PromptTemplate, record: TurnRecord, count: int
) -> list[str]:
    """Suggest different questions to ask next; none after a turn without an answer.

    Args:
        llm: the language model.
        template: the prompt; it is given `question`, `answer`, `titles` (of passages that were
            shown to the model and not cited) and `count`.
        record: the last turn.
        count: how many questions at most.

    Raises:
        LLMError: the model gives no reply.
    """
    if record.error or not record.answer.text or not count:
        return []
    unused = (
        item.passage
        for item in record.evidence.items
        if item.passage.id not in record.answer.citations
    )
    titles = list(dict.fromkeys(passage.title for passage in unused if passage.title))
    prompt = template.render(
        question=record.original_query, answer=record.answer.text, titles=titles, count=count
    )
    lines = llm.complete(prompt).text.splitlines()
    questions = (clean_reply(_LIST_MARK.sub("", line)) for line in lines)
    return list(dict.fromkeys(filter(None, questions)))[:count]
