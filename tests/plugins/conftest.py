"""Fixtures for the tests of plugins."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from llm_server import Server


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server of language models on loopback, for llm=litellm, whose calls are repeated at once when they fail."""
    pytest.importorskip("litellm")
    pytest.importorskip("tenacity")
    from convrag_litellm import retrying

    monkeypatch.setattr(retrying, "FIRST_WAIT", 0.01)
    server = Server()
    yield server
    server.close()
