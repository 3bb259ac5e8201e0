"""The tasks that are done without a language model, and what each of them reads of a prompt's inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from convrag import LLMError
from convrag_offline.answering import answer
from convrag_offline.document_frequencies import Frequencies
from convrag_offline.fluency import fluency
from convrag_offline.nugget_detection import nuggets
from convrag_offline.nugget_evaluation import assign, importance, nuggetise
from convrag_offline.rewriting import rewrite
from convrag_offline.summarizing import summarize

_TASKS: dict[str, Callable[..., str]] = {
    "answer": answer,
    "rewrite": rewrite,
    "nuggets": nuggets,
    "summarize": summarize,
    "fluency": fluency,
    "nuggetise": nuggetise,
    "importance": importance,
    "assign": assign,
}
_INPUTS = {
    "answer": ("question", "history", "evidence"),
    "rewrite": ("question", "history"),
    "nuggets": ("question", "passage"),
    "summarize": ("question", "nuggets", "words"),
    "fluency": ("text",),
    "nuggetise": ("question", "history", "passages", "nuggets", "most", "words"),
    "importance": ("question", "history", "nuggets"),
    "assign": ("nuggets", "answer"),
}
_OPTIONAL = {"rewrite": ("question_weight",), "nuggets": ("title",)}

NAMES = frozenset(_TASKS)


def perform(task: str, inputs: Mapping[str, Any], frequencies: Frequencies) -> str:
    """Do a task from its inputs. Raises LLMError for a task or inputs that are not known here."""
    if task not in _TASKS:
        raise _failure(
            f"knows the tasks {', '.join(_TASKS)}, not {task!r}: choose a language model for it "
            "(llm=litellm llm.model=...)"
        )
    if lacking := [name for name in _INPUTS[task] if name not in inputs]:
        raise _failure(f"reads a prompt's inputs, and this one for {task!r} lacks {', '.join(lacking)}")
    known = (*_INPUTS[task], *_OPTIONAL.get(task, ()))
    given = {name: inputs[name] for name in known if name in inputs}
    return _TASKS[task](**given, frequencies=frequencies)


def _failure(what: str) -> LLMError:
    return LLMError(f"llm=extractive is no language model: it {what}", provider="convrag", model="extractive")
