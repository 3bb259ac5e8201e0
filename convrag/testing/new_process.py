"""Asks a stage in a new Python process, where strings have other hashes and nothing was computed before."""

import importlib.util
import io
import os
import pickle
import subprocess
import sys
import time
from contextlib import suppress
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import SkipTest

from convrag.store.store import Store
from convrag.testing.libraries import block_network
from convrag.testing.values import Frozen

SECONDS = 0.5
"""The time after which a slow stage is asked no further conversation."""

_CODE = "from convrag.testing.new_process import answer_request; answer_request()"


def start_python(code: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start Python with some code, a pipe for each standard stream, and nothing of the working folder on its path."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-P", "-c", code]
    return subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe)


start = start_python  # convrag's own tests fork instead


def ask_new_process(contract: Any) -> list[list[Frozen]]:
    """Let a new process make the stage of a test class as `make` does, and ask it conversation by conversation.

    It imports the module of the test class, and sets the attributes that fixtures have set.

    Args:
        contract: an object of the test class, a `CallContract`.

    Returns:
        The answers to the first conversations: to as many as the process had time for, at least one.

    Raises:
        SkipTest: the class cannot be made there, because it is local to a function, or has what cannot be pickled.
        AssertionError: the stage cannot be made there; with what the process has said.
    """
    request = _make_request(contract)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTHONHASHSEED": "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2",
    }
    process = start(_CODE, environment)
    answers, errors = process.communicate(request)
    assert process.returncode == 0, (
        f"make() fails in a new process. If it relies on what a fixture has changed in this one, set "
        f"`new_process = False` in the test class.\n{errors.decode(errors='replace').strip()}"
    )
    found: list[list[Frozen]] = pickle.loads(answers)
    return found


def answer_request() -> None:
    """Read a request from standard input, and write the pickled answers to standard output."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what libraries print goes to standard error
    module, file, name, attributes = pickle.load(sys.stdin.buffer)
    contract = attrgetter(name)(_import_test_module(module, Path(file)))()
    vars(contract).update(pickle.loads(attributes))
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


def _make_request(contract: Any) -> bytes:
    """Describe a test class and the attributes that fixtures have set; a store is opened anew there."""
    cls = type(contract)
    module = sys.modules.get(cls.__module__)
    found = None
    with suppress(AttributeError):
        found = attrgetter(cls.__qualname__)(module)
    if found is not cls or cls.__module__ == "__main__":
        raise SkipTest(f"{cls.__qualname__} can be made in this process only: define it at the top of a module")
    attributes = io.BytesIO()
    pickler = pickle.Pickler(attributes)
    pickler.dispatch_table = {Store: lambda store: (Store, (store.path, store.url))}
    try:
        pickler.dump(vars(contract))
    except Exception as error:
        raise SkipTest(f"what fixtures have set cannot be taken to a new process ({error})") from error
    return pickle.dumps((cls.__module__, getattr(module, "__file__", ""), cls.__qualname__, attributes.getvalue()))


def _import_test_module(name: str, file: Path) -> ModuleType:
    """Import a test module by its name; by its file where pytest gave it a name that leads nowhere else."""
    with suppress(ImportError):
        module = import_module(name)
        if getattr(module, "__file__", None) and Path(str(module.__file__)).samefile(file):
            return module
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
