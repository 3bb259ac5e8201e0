"""Servers of `task=serve` for tests: an application with a client, one in a thread, and one as a
command.
"""

import os
import re
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE
from typing import Any

import httpx
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from commands import LIBRARIES, StartedCommand
from convrag import Conversations
from convrag_web.server.app import make_app
from convrag_web.server.connections import ConnectionLimits
from convrag_web.server.guard import Access
from convrag_web.server.served_model import ModelOptions
from convrag_web.server.served_models import ServedModels, build_models
from convrag_web.server.serving import TurnServer, bind_socket
from convrag_web.server.task import ServeTask

QUESTION = {"role": "user", "content": "Why do we always see the same side of the Moon?"}


@dataclass
class RunningServer:
    """A server that runs; `http` is a client that knows its address."""

    port: int
    models: ServedModels
    conversations: Conversations
    database: Path | str
    http: httpx.Client = field(repr=False)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}" if self.port != 80 else "http://127.0.0.1"

    def complete(self, *messages: Mapping[str, Any], **fields: Any) -> httpx.Response:
        """POST /v1/chat/completions; without messages, a question that the sample answers."""
        return self.http.post(
            "/v1/chat/completions", json={"messages": list(messages or [QUESTION]), **fields}
        )


@contextmanager
def serve(
    folder: Path,
    *overrides: str,
    models: Mapping[str, str] | None = None,
    limits: ServeTask | None = None,
    access: Access | None = None,
    options: ModelOptions | None = None,
    database: Path | str | None = None,
    headers: Mapping[str, str] | None = None,
    live: bool = False,
    connections: ConnectionLimits | None = None,
) -> Iterator[RunningServer]:
    """Serve models during the block; `overrides` are those of all models, the store is in the
    folder.

    A live server listens on a free port; any other is an application with a client in this process,
    whose streamed replies come as a whole.
    """
    shared = [f"store.path={folder / 'store'}", *overrides]
    named = {name: [*shared, *own.split()] for name, own in (models or {"convrag": ""}).items()}
    database = database or folder / "conversations.db"
    conversations = Conversations(database)
    built, wirings = build_models(named, conversations, options or ModelOptions())
    for wiring in wirings:
        wiring.prepare()
    access = access or Access(hosts=["127.0.0.1", "localhost"])
    app = make_app(
        built,
        conversations,
        limits or ServeTask(domain=options.domain if options else None),
        access,
    )
    try:
        if live:
            with (
                _listen(app, connections) as port,
                httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as http,
            ):
                http.headers.update(headers or {})
                yield RunningServer(port, built, conversations, database, http)
        else:
            with TestClient(
                app, base_url="http://127.0.0.1", headers=headers, raise_server_exceptions=False
            ) as http:
                yield RunningServer(80, built, conversations, database, http)
    finally:
        conversations.close()


@contextmanager
def _listen(app: ASGIApp, limits: ConnectionLimits | None) -> Iterator[int]:
    """Serve an application in a thread of its own, on a free port."""
    server = TurnServer(app, grace=5.0, limits=limits)
    with bind_socket("127.0.0.1", 0) as bound:
        thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield bound.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive()


@dataclass
class ServeCommand:
    """`python -m convrag task=serve` as a process."""

    process: StartedCommand
    address: str

    def stop(self, number: int = signal.SIGTERM, timeout: float = 60) -> tuple[int, str, str]:
        """Send a signal; return the exit status, standard output and standard error."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=timeout)
        return self.process.returncode, out, err


@contextmanager
def serve_command(
    folder: Path, *overrides: str, environment: Mapping[str, str] | None = None, port: int = 0
) -> Iterator[ServeCommand]:
    """Run the command in a folder until it serves; it is killed at the end of the block."""
    command = ["task=serve", f"task.port={port}", *overrides]
    variables = {**os.environ, **(environment or {})}
    with StartedCommand(
        command,
        folder,
        environment=variables,
        libraries=LIBRARIES,
        stdout=PIPE,
        stderr=PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            first = process.stdout.readline()
            match = re.search(r"http://\S+:\d+", first)
            assert match, first + process.stderr.read()
            yield ServeCommand(process, match[0].rstrip("/"))
        finally:
            process.kill()
