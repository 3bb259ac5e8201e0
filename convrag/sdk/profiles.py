"""Personal statements of the user (`Question.profile`) in a prompt: added where there are some, and only then."""

from collections.abc import Sequence
from dataclasses import replace

from convrag.api.types import Message, Prompt

__all__ = ["add_profile", "format_profile"]

INTRODUCTION = "What is known of the user; use it where the question depends on it, and nowhere else:"


def format_profile(profile: Sequence[str]) -> str:
    """Format the statements as a list under its introduction; empty where there is no statement."""
    lines = [" ".join(statement.split()) for statement in profile]
    listed = "\n".join(f"- {line}" for line in lines if line)
    return f"{INTRODUCTION}\n{listed}" if listed else ""


def add_profile(prompt: Prompt, profile: Sequence[str]) -> Prompt:
    """Add the statements to the system message, or else to the beginning of the first message.

    The prompt stays as it is where there are none. Its inputs get them as `profile`, too, for LLM stages by rules.
    """
    if not (text := format_profile(profile)) or not prompt.messages:
        return prompt
    first, *others = prompt.messages
    parts = (first.content, text) if first.role == "system" else (text, first.content)
    messages = (Message(first.role, "\n\n".join(parts)), *others)
    return replace(prompt, messages=messages, inputs={**prompt.inputs, "profile": list(profile)})
