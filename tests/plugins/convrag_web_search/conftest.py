"""A web on loopback for each test."""

from collections.abc import Iterator

import pytest

from web_server import WebServer


@pytest.fixture
def web() -> Iterator[WebServer]:
    """Start a server, and end it."""
    server = WebServer()
    yield server
    server.close()
