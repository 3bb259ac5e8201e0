"""Asks a stage in a new Python process, where strings have other hashes and nothing was computed before."""

from __future__ import annotations

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
from typing import TYPE_CHECKING
from unittest import SkipTest

from convrag.store.store import Store
from convrag.testing.network import block_network
from convrag.testing.values import Frozen

if TYPE_CHECKING:
    from convrag.testing.calls import CallContract

SECONDS = 0.5
"""The time after which a slow stage is asked no further conversation."""

_CODE = "from convrag.testing.new_process import answer_request; answer_request()"
_CANNOT_REBUILD = 3
"""The exit status of a process that cannot make the test class."""


def start_python(code: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start Python with some code, a pipe for each standard stream, and nothing of the working folder on its path."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-P", "-c", code]
    return subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe)


class NewProcess:
    """A process that makes the stage of a test class as `make` does, and asks it conversation by conversation.

    It imports the module of the test class, and sets the attributes that fixtures have set. It starts at once;
    `read_answers` waits for it.

    Args:
        contract: an object of the test class.

    Raises:
        SkipTest: the class cannot be made there, because it is local to a function, or has what cannot be pickled.
    """

    start = staticmethod(start_python)
    """How Python is started."""

    def __init__(self, contract: CallContract) -> None:
        self._request = _make_request(contract)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "PYTHONHASHSEED": "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2",
        }
        self._process = self.start(_CODE, environment)

    def read_answers(self) -> list[list[Frozen]]:
        """Return the answers to the first conversations: to as many as the process had time for, at least one.

        Raises:
            SkipTest: the test class cannot be made there.
            AssertionError: the stage raised an exception.
        """
        answers, errors = self._process.communicate(self._request)
        shown = errors.decode(errors="replace").strip()
        if self._process.returncode == _CANNOT_REBUILD:
            raise SkipTest(f"the test class cannot be made in a new process: {shown.splitlines()[-1]}")
        assert self._process.returncode == 0, (
            f"make() fails in a new process. If it relies on what a fixture has changed in this one, set "
            f"`new_process = False` in the test class.\n{shown}"
        )
        found: list[list[Frozen]] = pickle.loads(answers)
        return found


def answer_request() -> None:
    """Read a request from standard input, and write the pickled answers to standard output."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what libraries print goes to standard error
    request = pickle.load(sys.stdin.buffer)
    try:
        contract = _rebuild(request)
    except Exception as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.exit(_CANNOT_REBUILD)
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


def _make_request(contract: CallContract) -> bytes:
    """Describe a test class and the attributes of its object."""
    cls = type(contract)
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    with suppress(AttributeError):
        if file and attrgetter(cls.__qualname__)(module) is cls and cls.__module__ != "__main__":
            return pickle.dumps((cls.__module__, file, cls.__qualname__, _pickle_attributes(contract)))
    raise SkipTest(f"{cls.__qualname__} can be made in this process only: define it at the top of a module")


def _pickle_attributes(contract: CallContract) -> dict[str, bytes]:
    """Pickle the attributes that fixtures have set; a store is opened anew there."""
    pickled = {}
    for name, value in vars(contract).items():
        file = io.BytesIO()
        pickler = pickle.Pickler(file)
        pickler.dispatch_table = {Store: lambda store: (Store, (store.path, store.url))}
        try:
            pickler.dump(value)
        except Exception as error:
            raise SkipTest(f"self.{name} cannot be taken to a new process ({error})") from error
        pickled[name] = file.getvalue()
    return pickled


def _rebuild(request: tuple[str, str, str, dict[str, bytes]]) -> CallContract:
    """Make the object of a test class anew."""
    module, file, name, attributes = request
    contract: CallContract = attrgetter(name)(_import_test_module(module, Path(file)))()
    vars(contract).update({name: pickle.loads(value) for name, value in attributes.items()})
    return contract


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
