"""The tasks of prompts that are done without a language model, and which of a prompt's inputs each of them reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from convrag import LLMError
from convrag_offline.answering import answer
from convrag_offline.document_frequencies import DocumentFrequencies
from convrag_offline.evidence_drafts import choose, draft, mark_spans, reply
from convrag_offline.nugget_detection import tag_nuggets
from convrag_offline.nugget_evaluation import assign_support, nuggetise, rate_importance
from convrag_offline.question_checking import compare, judge_clarity, solve
from convrag_offline.question_writing import write_question
from convrag_offline.rewriting import rewrite
from convrag_offline.suggesting import suggest
from convrag_offline.summarizing import summarize


def keep_wording(text: str, frequencies: DocumentFrequencies) -> str:
    """Task "fluency" without a language model: the text as it is."""
    return text


_TASKS: dict[str, Callable[..., str]] = {
    "answer": answer,
    "rewrite": rewrite,
    "nuggets": tag_nuggets,
    "summarize": summarize,
    "fluency": keep_wording,
    "nuggetise": nuggetise,
    "importance": rate_importance,
    "assign": assign_support,
    "suggest": suggest,
    "question": write_question,
    "solve": solve,
    "compare": compare,
    "alone": judge_clarity,
    "spans": mark_spans,
    "draft_spans": draft,
    "draft_passages": draft,
    "choose": choose,
    "reply": reply,
}
TASK_NAMES = frozenset(_TASKS)


def perform_task(task: str, inputs: Mapping[str, Any], frequencies: DocumentFrequencies) -> str:
    """Do a task with a prompt's inputs. Raises LLMError for an unknown task or missing inputs."""
    if task not in _TASKS:
        raise _error(
            f"knows the tasks {', '.join(_TASKS)}, not {task!r}: choose a language model for it "
            "(llm=litellm llm.model=...)"
        )
    parameters = [each for each in signature(_TASKS[task]).parameters.values() if each.name != "frequencies"]
    if missing := [each.name for each in parameters if each.default is each.empty and each.name not in inputs]:
        raise _error(f"reads a prompt's inputs, and this one for {task!r} lacks {', '.join(missing)}")
    given = {each.name: inputs[each.name] for each in parameters if each.name in inputs}
    return _TASKS[task](**given, frequencies=frequencies)


def _error(message: str) -> LLMError:
    return LLMError(f"llm=extractive is no language model: it {message}", provider="convrag", model="extractive")
