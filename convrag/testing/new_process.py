"""Asks a stage in a new process, where hashes differ and nothing was computed before."""

import io
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest import SkipTest

from convrag.store.store import Store
from convrag.testing.libraries import block_network
from convrag.testing.values import Frozen

SECONDS = 0.5
"""The time after which a slow stage is asked no further conversation."""

_CODE = "from convrag.testing.new_process import answer_request; answer_request()"


def start_python(code: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start Python with some code and a pipe for each standard stream.

    The working folder is not on its path.
    """
    pipe = subprocess.PIPE
    command = [sys.executable, "-P", "-c", code]
    return subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe)


start = start_python  # convrag's own tests fork instead


def ask_new_process(contract: Any) -> list[list[Frozen]]:
    """Let a new process make the stage of a test class, and ask it conversation by conversation.

    It imports the module of the test class, and sets the attributes that fixtures have set.

    Args:
        contract: an object of the test class, a `CallContract`.

    Returns:
        The answers to the first conversations, as many as the process had time for, at least one.

    Raises:
        SkipTest: the class cannot be made there, because it is local to a function, or has what
            cannot be pickled.
        AssertionError: the stage cannot be made there; the message has the output of the process.
    """
    test_module = sys.modules[type(contract).__module__]
    root = Path(test_module.__file__ or "").parents[test_module.__name__.count(".")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(root), *filter(None, sys.path)]),
        "PYTHONHASHSEED": "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2",
    }
    request = _pickle(contract)
    process = start(_CODE, environment)
    answers, errors = process.communicate(request)
    assert process.returncode == 0, (
        f"make() fails in a new process. If it relies on what a fixture has changed in this one, "
        f"set `new_process = False` in the test class.\n"
        f"{errors.decode(errors='replace').strip()}"
    )
    found: list[list[Frozen]] = pickle.loads(answers)
    return found


def answer_request() -> None:
    """Read a request from standard input, and write the pickled answers to standard output."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what libraries print goes to standard error
    contract = pickle.load(sys.stdin.buffer)
    found: list[list[Frozen]] = []
    until = time.monotonic() + SECONDS
    with block_network(allow_loopback=contract.network):
        stage = contract.make()
        for number in range(len(contract.inputs())):
            found.append(contract.converse(stage, number))
            if time.monotonic() > until:
                break
    with os.fdopen(answers, "wb") as file:
        pickle.dump(found, file)


def _pickle(contract: Any) -> bytes:
    """Pickle an object of a test class with its attributes; a store in it is opened again there."""
    pickled = io.BytesIO()
    pickler = pickle.Pickler(pickled)
    pickler.dispatch_table = {Store: lambda store: (Store, (store.path, store.url))}
    try:
        pickler.dump(contract)
    except Exception as error:
        problem = f"{type(contract).__qualname__} cannot be taken to a new process: {error}"
        raise SkipTest(f"{problem}. Define it at the top of a module") from error
    return pickled.getvalue()
