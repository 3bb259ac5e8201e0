"""Loggers of libraries: the command limits them; where convrag is a library, they stay as they are."""

import logging
import subprocess
import sys

import pytest

from convrag.sdk.output import library_logs

CODE = """
import logging
from importlib import import_module
from importlib.util import find_spec

def state():
    made = [logging.root, *(each for each in logging.root.manager.loggerDict.values() if hasattr(each, "level"))]
    return {each.name: (each.level, list(map(id, each.handlers)), each.propagate, each.disabled) for each in made}

libraries = ["urllib3.connectionpool", "pypdf", "elasticsearch", "mlflow.store.tracking.sqlalchemy_store"]
for name in libraries:
    if find_spec(name.partition(".")[0]):
        import_module(name)
before = state()
from convrag import Pipeline
pipeline = Pipeline.compose("generator=none", "limit=1")
for name in ["llms.connections", "documents.readers.pdf", "mlflow.experiment"]:
    try:
        import_module(f"convrag_{name}")
    except ImportError:
        pass
after = state()
changed = {name: (before[name], after[name]) for name in before if after[name] != before[name]}
made = {name: is_now for name, is_now in after.items() if name not in before and is_now[:2] != (0, [])}
found = changed | made
for secret in ("urllib3.connectionpool", "urllib3.util.retry"):  # below a warning they write addresses, with keys
    found.pop(secret, None)
assert not found, found
"""


@pytest.mark.slow
def test_a_program_that_uses_convrag_keeps_its_loggers() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_command_limits_them_whenever_they_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_logs, "_limits", {})
    monkeypatch.setattr(library_logs, "_owned", False)
    early, late = logging.getLogger("toy_early"), logging.getLogger("toy_late")
    library_logs.limit_logs(logging.ERROR, "toy_early")
    assert early.level == logging.NOTSET
    library_logs.own_logs()
    library_logs.limit_logs(logging.WARNING, "toy_late")
    assert (early.level, late.level) == (logging.ERROR, logging.WARNING)
