"""One short question to each provider, for whoever has its key: CONVRAG_LIVE=1 pytest
tests/integration/test_live.py.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from convrag.api.completions import Message, Prompt
from convrag.concurrency.streaming import listen_with
from convrag.config.compose import compose
from convrag.turn.wiring import Wiring

pytest.importorskip("litellm")
pytestmark = pytest.mark.live

NEEDS = {
    "mixtral": ["TOGETHER_API_KEY"],
    "claude": ["ANTHROPIC_API_KEY"],
    "gpt4": ["OPENAI_API_KEY"],
    "azure": ["AZURE_API_KEY", "AZURE_API_BASE", "AZURE_DEPLOYMENT"],
    "ollama": ["OLLAMA_MODEL"],
    "openai_compatible": ["MY_SERVER", "MY_MODEL"],
}
"""Option -> the variables that must be set for it; the last three name what no default can."""


def overrides(option: str) -> list[str]:
    """What the command line says to reach it."""
    named = {
        "azure": ["llm.model=azure/${oc.env:AZURE_DEPLOYMENT}"],
        "ollama": ["llm.model=ollama_chat/${oc.env:OLLAMA_MODEL}"],
        "openai_compatible": [
            "llm.model=openai/${oc.env:MY_MODEL}",
            "llm.api_base_env=MY_SERVER",
            "llm.api_base=null",
        ],
    }
    return [f"llm={option}", "llm.max_tokens=40", *named.get(option, [])]


@pytest.fixture(params=list(NEEDS))
def option(request: pytest.FixtureRequest) -> str:
    if missing := [name for name in NEEDS[request.param] if not os.environ.get(name)]:
        pytest.skip(f"{', '.join(missing)} not set")
    return str(request.param)


def test_a_reply_with_its_usage_whole_and_in_pieces(option: str, tmp_path: Path) -> None:
    llm = Wiring(compose(*overrides(option), f"store.path='{tmp_path}'")).get("llm")
    assert list(llm.check()) == []
    prompt = Prompt(
        "answer", (Message("user", "Name three colours, in English, and say nothing else."),)
    )
    whole = llm.complete(prompt)
    assert whole.text
    assert whole.prompt_tokens > 5
    assert whole.completion_tokens > 2
    heard: list[str] = []
    with listen_with(heard.append):
        streamed = llm.complete(Prompt("answer", prompt.messages, attempt=1))
    assert "".join(heard).strip() == streamed.text


@pytest.mark.slow
def test_a_conversation(option: str, tmp_path: Path) -> None:
    chosen = [
        *overrides(option),
        "llm.max_tokens=300",
        "rewriter=condense",
        "generator=chat",
        "limit=1",
    ]
    command = [sys.executable, "-m", "convrag", *chosen, "tracker=none"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "turns failed" not in done.stdout
