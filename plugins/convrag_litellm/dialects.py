"""What providers call the same things: sampling parameters that not all of them have, and where a prompt is cached."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from convrag import Message

log = logging.getLogger(__name__)

_LOCAL = frozenset({"hosted_vllm", "llamafile", "lm_studio"})
_OLLAMA = frozenset({"ollama", "ollama_chat"})
_TOP_K = _LOCAL | _OLLAMA | {"anthropic", "cohere", "fireworks_ai", "gemini", "openrouter", "together_ai", "vertex_ai"}
_PENALTY = _LOCAL | {"fireworks_ai", "openrouter", "together_ai"}

_said: set[tuple[str, str]] = set()


def spoken(sampling: Mapping[str, Any], provider: str, own_server: bool) -> dict[str, Any]:
    """Sampling parameters as a provider knows them; `top_k` and `repeat_penalty` are left out where it has no such.

    Args:
        sampling: by our names.
        provider: as litellm names it.
        own_server: whether a server of one's own is asked: one that speaks the OpenAI protocol has more than OpenAI.
    """
    sent = dict(sampling)
    local = own_server and provider == "openai"
    if "top_k" in sent and not (local or provider in _TOP_K):
        _leave_out("top_k", sent, provider)
    if "repeat_penalty" in sent and provider not in _OLLAMA:
        if local or provider in _PENALTY:
            sent["repetition_penalty"] = sent.pop("repeat_penalty")
        else:
            _leave_out("repeat_penalty", sent, provider)
    return sent


def with_cache_marks(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Messages for Claude, with marks where what is worth caching ends: the system message, and the whole prompt.

    The next turn of a conversation begins with this prompt, and Anthropic then finds the longest part that it has.
    """
    ends = {index for index, message in enumerate(messages) if message.role == "system"} | {len(messages) - 1}
    return [_marked(message) if index in ends else _plain(message) for index, message in enumerate(messages)]


def without_marks(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Messages as most providers take them."""
    return [_plain(message) for message in messages]


def _plain(message: Message) -> dict[str, Any]:
    return {"role": message.role, "content": message.content}


def _marked(message: Message) -> dict[str, Any]:
    block = {"type": "text", "text": message.content, "cache_control": {"type": "ephemeral"}}
    return {"role": message.role, "content": [block]}


def _leave_out(name: str, sent: dict[str, Any], provider: str) -> None:
    value = sent.pop(name)
    if (name, provider) not in _said:
        _said.add((name, provider))
        log.warning("%s=%s is left out of requests: %s has no such parameter", name, value, provider or "the provider")
