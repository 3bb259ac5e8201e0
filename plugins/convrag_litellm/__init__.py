"""Language models through litellm: hosted ones, and any server that speaks the OpenAI protocol."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_litellm.llm import LiteLLM

__all__ = ["LiteLLM"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("llm", "litellm", LiteLLM)
