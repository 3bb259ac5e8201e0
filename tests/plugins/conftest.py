"""Fixtures for the tests of plugins."""

from collections.abc import Iterator

import pytest

from llm_server import Server


@pytest.fixture
def option(request: pytest.FixtureRequest) -> str:
    """The option that `server` is for: llm=litellm, or those of `every_option`."""
    return str(getattr(request, "param", "litellm"))


@pytest.fixture
def server(option: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server of language models on loopback. Calls are repeated at once when they fail."""
    if option == "litellm":
        pytest.importorskip("litellm")
    from convrag_llms import call
    from convrag_llms.refused_parameters import forget_refused_parameters
    from convrag_llms.thought_habits import forget_habits

    monkeypatch.setattr(call, "FIRST_WAIT", 0.01)
    forget_refused_parameters()  # an address may have been another test's
    forget_habits()
    server = Server(option)
    yield server
    server.close()
