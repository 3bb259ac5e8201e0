"""The Zotero assistant's rewriter and chat: a gate chooses the follow-ups that are condensed.

* `rewriter`: `rewriter=condense`: a model condenses the follow-ups that the gate chooses.
* `gate`: whether a question depends on the history, and whether its rewrite has drifted.
* `search_ahead`: the search that runs while the model condenses (`rewriter.speculate`).
* `chat`: `generator=chat`: the conversation is sent to the model as a chat.
* `chat_history`: the history of a conversation as a model's messages.
* `labels`: the labels of passages in these messages.
* `query_condenser`: the assistant's API over the same code.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from convrag import Register, hookimpl

if TYPE_CHECKING:
    from convrag_condense.query_condenser import QueryCondenser, trim_messages_for_context

__all__ = ["QueryCondenser", "trim_messages_for_context"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register `rewriter=condense` and `generator=chat`."""
    register(
        "rewriter",
        "condense",
        "convrag_condense.rewriter:CondenseRewriter",
        "Condense the follow-ups that a gate finds dependent, and reject rewrites that have "
        "drifted.",
    )
    register(
        "generator",
        "chat",
        "convrag_condense.chat:ChatGenerator",
        "Answer as a chat: the system prompt once, then plain questions, each followed by "
        "evidence.",
    )


def __getattr__(name: str) -> Any:
    """Import the assistant's API on first access, since no option needs it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.query_condenser"), name)
