"""llm=litellm as a client of the server of tests/llm_server.py."""

from __future__ import annotations

from typing import Any

from convrag_litellm.llm import LiteLLM
from llm_server import Server


def make_client(server: Server, **parameters: Any) -> LiteLLM:
    """Make a client of a server on loopback; the parameters are those of llm=litellm."""
    return LiteLLM(**{"model": "openai/local", "api_base": server.address, **parameters})
