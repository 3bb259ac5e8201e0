"""A model's decision whether to answer, in the same reply as its answer.

The prompt asks for one word on the first line of the reply (`add_form`). It is read, checked, and
kept from listeners (`ask_model`).
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple

from convrag.api.completions import Completion, Message, Prompt
from convrag.api.passages import Passage
from convrag.api.stage import LLM
from convrag.sdk.llm.prompts import PromptTemplate
from convrag.sdk.llm.streaming import HeldPieces, current_listener, listen_with
from convrag.sdk.text.analysis import find_stems
from convrag.sdk.text.answerability import Decision, Outcome
from convrag.sdk.text.clarification import list_choices

_VERDICT = re.compile(r"\A\s*[*_`]*\[(?P<word>ANSWERED|PARTIAL|UNANSWERABLE|ASK)\][*_`:.]*\s*")
_BEGINNING = re.compile(r"\s*[*_`]*(?:\[[A-Z]*\]?)?[*_`:.]*\s*")
_CHOICE = re.compile(r"^(?:\d{1,2}[.)]|[-*•]) +(\S.*)$")
_OUTCOMES: dict[str, Outcome] = {
    "ANSWERED": "answered",
    "PARTIAL": "partial",
    "UNANSWERABLE": "unanswerable",
    "ASK": "asked",
}
_read_template = cache(partial(PromptTemplate, "verdict", package="convrag.sdk.llm"))


def add_form(prompt: Prompt, decision: Decision) -> Prompt:
    """Ask in a prompt for the model's decision, if it is to make one."""
    if not decision.form:
        return prompt
    form = _read_template().render(may_ask=decision.form == "ask").messages[0].content
    first, *others = prompt.messages
    parts = (first.content, form) if first.role == "system" else (form, first.content)
    return replace(prompt, messages=(Message(first.role, "\n\n".join(parts)), *others))


def ask_model(
    llm: LLM, prompt: Prompt, decision: Decision, passages: Sequence[Passage]
) -> tuple[Decision, Completion]:
    """Ask a model for its decision and its answer in one reply.

    A reply without a decision is an answer. A reply without any text is asked for once more; if
    that has none either, the question is refused. Choices that no passage has are left out; where
    none is left, the titles of the passages take their place. Raises LLMError.

    Args:
        llm: a language model.
        prompt: asks for the answer, in the form of the decision (`add_form`).
        decision: by the signal; it says what the model is to decide.
        passages: that the model sees.

    Returns:
        The decision with the model's verdict, where it has given one, and what is said; and the
        reply as it came.
    """
    if not decision.form:
        completion = llm.complete(prompt)
        return replace(decision, reply=completion.text), completion
    reply = _complete(llm, prompt)
    if not reply.text:
        return replace(decision.refuse(), fallback=reply.fallback), reply.completion
    if reply.word:
        decision = decision.note_verdict(_OUTCOMES[reply.word])
    if decision.outcome == "asked":
        decision = _check_choices(reply.text, decision, passages)
        reply.pieces.text = decision.reply
    else:
        decision = replace(decision, reply=reply.text, fallback=reply.fallback)
    reply.pieces.release()
    return decision, reply.completion


class _Reply(NamedTuple):
    """A reply in two parts, the word of the decision and the text, and the pieces held of it."""

    word: str
    text: str
    completion: Completion
    pieces: HeldPieces
    fallback: str


def _complete(llm: LLM, prompt: Prompt) -> _Reply:
    """Ask for a reply, and once more if it has no text."""
    reply = _complete_once(llm, prompt)
    if reply.text:
        return reply
    second = _complete_once(llm, replace(prompt, attempt=prompt.attempt + 1))
    return second._replace(fallback="the model gave no text, and was asked again")


def _complete_once(llm: LLM, prompt: Prompt) -> _Reply:
    listener = current_listener()
    pieces = HeldPieces(listener or str, _is_held, _drop_verdict)
    with listen_with(pieces if listener else None):
        completion = llm.complete(prompt)
    match = _VERDICT.match(completion.text)
    word = match["word"] if match else ""
    return _Reply(word, _drop_verdict(completion.text).strip(), completion, pieces, "")


def _check_choices(text: str, decision: Decision, passages: Sequence[Passage]) -> Decision:
    """Ask back with the choices of which some passage has all words; leaving one out is a
    fallback.
    """
    question, named = _split_choices(text)
    known = [find_stems(each.content) for each in passages]
    choices = [choice for choice in named if any(find_stems(choice) <= stems for stems in known)]
    left_out = [choice for choice in named if choice not in choices]
    if named and not choices:
        choices = list_choices(passages)
    decision = decision.ask_back(question, choices)
    if not left_out:
        return decision
    reason = f"no passage has what the model offers to choose from: {', '.join(left_out)}"
    return replace(decision, fallback=reason)


def _split_choices(text: str) -> tuple[str, list[str]]:
    """Split a model's question back from its choices, which it may number or mark in any way.

    Where other lines stand below the question, all of the text is the question.
    """
    question, *others = [line.strip() for line in text.splitlines() if line.strip()]
    choices = [match[1] for match in map(_CHOICE.match, others) if match]
    return (question, choices) if choices and len(choices) == len(others) else (text, [])


def _is_held(beginning: str) -> bool:
    """Whether a reply that begins so has shown nothing but its decision; a question back is held to
    its end.
    """
    match = _VERDICT.match(beginning)
    if match:
        return match["word"] == "ASK" or match.end() == len(beginning)
    return bool(_BEGINNING.fullmatch(beginning))


def _drop_verdict(text: str) -> str:
    return _VERDICT.sub("", text, count=1)
