"""Finds slow imports of a module, and the hosts that a stage tries to reach."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from ipaddress import ip_address
from typing import Any
from unittest import mock

_HEAVY = re.compile(
    "bertopic|elasticsearch|faiss|hdbscan|ir_measures|jax|jinja2|litellm|matplotlib|mlflow|nltk"
    "|numpy|openai|pandas|pydantic|rich|rouge_score|sacrebleu|scipy|sentence_transformers|sklearn"
    "|spacy|tensorflow|torch|transformers|umap"
)
"""Libraries that take long to import; modules of plugins import them inside functions."""


@cache
def find_heavy_imports(module: str) -> tuple[str, ...]:
    """Find the slow libraries that are imported with a module.

    Raises:
        ImportError: the import fails.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    code = (
        f"import sys; import {module}; "
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ImportError(f"{module} cannot be imported by itself:\n{done.stderr}")
    return tuple(name for name in done.stdout.splitlines()[-1].split() if _HEAVY.fullmatch(name))


_PATCHED = ((socket.socket, "connect"), (socket.socket, "connect_ex"), (socket, "getaddrinfo"))


@contextmanager
def block_network(*, allow_loopback: bool = False) -> Iterator[list[str]]:
    """Let every attempt to reach a server fail, in all threads.

    It yields the list of the hosts that were tried.

    Args:
        allow_loopback: whether servers on this machine can be reached.
    """
    tried: list[str] = []

    def block(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            host = _find_host(arguments)
            if host is None or (allow_loopback and _is_loopback(host)):
                return function(*arguments, **named)
            tried.append(host)
            raise OSError(f"there is no network in this test: {host}")

        return call

    with ExitStack() as patches:
        for owner, name in _PATCHED:
            patches.enter_context(mock.patch.object(owner, name, block(getattr(owner, name))))
        yield tried


def _find_host(arguments: tuple[Any, ...]) -> str | None:
    """Find the host in connect(socket, (host, port)) or getaddrinfo(host, port).

    It is None for Unix sockets.
    """
    first = arguments[0] if arguments else None
    if isinstance(first, socket.socket):
        address = arguments[1] if len(arguments) > 1 else None
        return str(address[0]) if isinstance(address, tuple) else None
    return first.decode() if isinstance(first, bytes) else str(first or "localhost")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
