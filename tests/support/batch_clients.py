"""The options that send batches, as clients of the server of tests/support/batch_server.py."""

from pathlib import Path
from typing import Any

from batch_server import BatchServer
from convrag import Message, Prompt
from convrag.store.store import Store
from convrag_llms.litellm_llm import LiteLLM
from convrag_llms.openai_compatible import OpenAICompatible

CLAUDE = "anthropic/claude-sonnet-4-5-20250929"


def make_llm(server: BatchServer, folder: Path, **options: float) -> OpenAICompatible:
    prices = {"input_cost_per_token": 0.01, "output_cost_per_token": 0.01}
    return OpenAICompatible(
        model="tiny",
        api_base=server.address,
        extra=prices,
        batch=True,
        store=Store(folder),
        **options,
    )


def make_claude(server: BatchServer, folder: Path, **options: Any) -> LiteLLM:
    base = server.address.removesuffix("/v1")
    return LiteLLM(
        model=CLAUDE,
        api_base=base,
        api_key_env="ANTHROPIC_API_KEY",
        batch=True,
        store=Store(folder),
        **options,
    )


def ask(text: str) -> Prompt:
    return Prompt(task="answer", messages=(Message("user", text),))
