"""A model's decision whether to answer, in the same reply as its answer: asked for, read, and kept
from listeners.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial

from convrag.api.completions import Completion, Message, Prompt
from convrag.api.passages import Passage
from convrag.api.stage import LLM
from convrag.sdk.llm.prompts import PromptTemplate
from convrag.sdk.llm.streaming import HeldPieces, current_listener, listen_with
from convrag.sdk.text.analysis import find_stems
from convrag.sdk.text.answerability import Decision, Outcome
from convrag.sdk.text.clarification import list_choices, read_choices

_VERDICT = re.compile(r"\A\s*[*_`]*\[(?P<word>ANSWERED|PARTIAL|UNANSWERABLE|ASK)\][*_`:.]*\s*")
_read_template = cache(partial(PromptTemplate, "verdict", package="convrag.sdk.llm"))
_BEGINNING = re.compile(r"\s*[*_`]*(?:\[[A-Z]*\]?)?[*_`:.]*\s*")


def ask_model(
    llm: LLM, prompt: Prompt, decision: Decision, passages: Sequence[Passage]
) -> tuple[Decision, Completion]:
    """Ask a model for its decision and its answer in one reply. A reply without a decision is an
    answer.

    A reply without any text is asked for once more; where none comes, the question is refused.
    Choices that no passage has are left out; where none is left, those of the passages take their
    place. Raises LLMError.

    Args:
        llm: a language model.
        prompt: asks for the answer, in the form of the decision (`add_form`).
        decision: by signals; it says what the model is to decide.
        passages: that the model sees.

    Returns:
        The decision with the model's verdict, where it has given one, and what is said; and the
        reply as it came.
    """
    if not decision.form:
        completion = llm.complete(prompt)
        return replace(decision, reply=completion.text), completion
    listener, fallback = current_listener(), ""
    for attempt in (prompt.attempt, prompt.attempt + 1):
        pieces = HeldPieces(listener or str, _holds, _drop_verdict)
        with listen_with(pieces if listener else None):
            completion = llm.complete(replace(prompt, attempt=attempt))
        match = _VERDICT.match(completion.text)
        if text := completion.text[match.end() if match else 0 :].strip():
            break
        fallback = "the model gave no text, and was asked again"
    if not text:
        return replace(decision.refuse(), fallback=fallback), completion
    if match:
        outcomes: dict[str, Outcome] = {
            "PARTIAL": "partial",
            "UNANSWERABLE": "unanswerable",
            "ASK": "asked",
        }
        decision = decision.note_verdict(outcomes.get(match["word"], "answered"))
    if decision.outcome == "asked":
        decision = _check_choices(text, decision, passages)
        pieces.text = decision.reply
    else:
        decision = replace(decision, reply=text, fallback=fallback)
    pieces.release()
    return decision, completion


def add_form(prompt: Prompt, decision: Decision) -> Prompt:
    """Add to a prompt in which form the model is to decide, where it is to."""
    if not decision.form:
        return prompt
    form = _read_template().render(may_ask=decision.form == "ask").messages[0].content
    first, *others = prompt.messages
    parts = (first.content, form) if first.role == "system" else (form, first.content)
    return replace(prompt, messages=(Message(first.role, "\n\n".join(parts)), *others))


def _check_choices(text: str, decision: Decision, passages: Sequence[Passage]) -> Decision:
    """Ask back with the choices of which some passage has all words; what was left out is a
    fallback.
    """
    named = read_choices(text) or []
    known = [find_stems(each.content) for each in passages]
    kept = [choice for choice in named if any(find_stems(choice) <= stems for stems in known)]
    left_out = [choice for choice in named if choice not in kept]
    offered = kept or (list_choices(passages) if named else [])
    reason = (
        f"no passage has what the model offers to choose from: {', '.join(left_out)}"
        if left_out
        else ""
    )
    return replace(
        decision.ask_back(text.splitlines()[0] if named else text, offered), fallback=reason
    )


def _holds(beginning: str) -> bool:
    """Whether a reply that begins so has shown nothing but its decision; a question back is held to
    its end.
    """
    match = _VERDICT.match(beginning)
    if match:
        return match["word"] == "ASK" or match.end() == len(beginning)
    return bool(_BEGINNING.fullmatch(beginning))


def _drop_verdict(text: str) -> str:
    return _VERDICT.sub("", text, count=1)
