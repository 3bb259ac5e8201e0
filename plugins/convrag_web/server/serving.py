"""From the task to a running server: the models, the address, the application."""

from __future__ import annotations

import gc
import socket
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from convrag import Conversations
from convrag.sdk.console import make_console
from convrag.sdk.tasks.turns import ending_conversations
from convrag_web.server.addresses import bind_socket, explain_address, format_address, list_hosts
from convrag_web.server.app import Access, Limits, make_app
from convrag_web.server.served_models import ModelOptions, build_models
from convrag_web.server.uvicorn_server import TurnServer

if TYPE_CHECKING:
    from convrag_web.server.task import ServeTask


YOUNG_OBJECTS = 20_000
"""How many objects are made before the collector looks for cycles among them. A turn makes thousands, and hardly any
cycle. Of a turn among 64, by gc.callbacks, the collector took .45 ms at Python's own 700, and takes .09 ms.
"""


def serve(task: ServeTask, config: DictConfig, token: str) -> int:
    """Serve until told to end; return the exit status.

    Args:
        task: says what is served, and how.
        config: the command's configuration.
        token: that requests must have; empty where none is needed.

    Raises:
        ConfigError: the address cannot be used, or a model is not valid.
        NotReady: a key, a file or an extra is missing.
    """
    conversations = Conversations(task.conversations or Path(config.store.path) / "conversations.db")
    with closing(conversations):
        models, wirings = build_models(task.models, conversations, ModelOptions(task.domain, task.suggestions))
        with bind_socket(task.host, task.port) as bound:
            for wiring in wirings:
                wiring.prepare(for_new_questions=True)
            app = make_app(
                models,
                conversations,
                Limits(task.workers, task.queue, task.timeout, task.max_body, task.max_messages, task.max_characters),
                Access(token, list_hosts(task.host, task.hosts), task.cors),
            )
            with ending_conversations([model.pipeline.watch.observers for model in models.values()], _show):
                _run(TurnServer(app, grace=task.grace), bound)
    return 0


def _run(server: TurnServer, bound: socket.socket) -> None:
    host, port = bound.getsockname()[:2]
    try:
        bound.listen(server.config.backlog)
    except OSError as error:
        raise explain_address(host, port, error) from error
    gc.collect()
    gc.freeze()  # collections do not look at what was loaded until now: each took up to .1 s, for all conversations
    gc.set_threshold(YOUNG_OBJECTS)
    _show(f"Serving on {format_address(bound)} (Ctrl-C ends it)")
    server.run(sockets=[bound])


def _show(line: str) -> None:
    make_console().print(line, soft_wrap=True, highlight=False, markup=False)
