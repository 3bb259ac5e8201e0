"""The test server of language models: what other tests rely on."""

import httpx
import pytest

from llm_server import Server


def test_a_closed_server_answers_no_connection_that_was_kept_open() -> None:
    server = Server()
    with httpx.Client() as client:
        client.post(f"{server.address}/chat/completions", json={}).raise_for_status()
        server.close()
        with pytest.raises(httpx.TransportError):
            client.post(f"{server.address}/chat/completions", json={})
    assert len(server.requests) == 1
