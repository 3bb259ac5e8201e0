"""Runs `python -m convrag` again and again without importing its libraries anew: see
`commands.run_convrag`.

The libraries that most runs use are imported once. Each command is then run by a process forked
from this one, which has loaded no plugin and run nothing. Its arguments are the number of a socket,
and more libraries to import. Over the socket comes, for each command, a file of its request in
JSON, its standard input, output and error, and a pipe, through which its process id goes back, then
its exit status: a process between the command and this one waits for it.
"""

import atexit
import fcntl
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import termios
import threading
import warnings
from contextlib import suppress
from pathlib import Path

_SOURCES = ("file_config_source", "importlib_resources_config_source", "structured_config_source")
_COMPLETIONS = ("bash_completion", "fish_completion", "zsh_completion")
LIBRARIES = (
    *(
        f"hydra._internal.core_plugins.{name}"
        for name in (*_SOURCES, *_COMPLETIONS, "basic_launcher", "basic_sweeper")
    ),
    *(
        "Stemmer",
        "asyncio",
        "convrag.cli.main",
        "convrag.run.runner",
        "filelock",
        "hydra._internal.hydra",
    ),
    *(
        "hydra.experimental",
        "ir_measures",
        "jinja2.sandbox",
        "json_repair",
        "matplotlib.backends.backend_agg",
    ),
    *(
        "matplotlib.figure",
        "mpl_toolkits",
        "numpy.random",
        "pydantic.dataclasses",
        "pydantic.type_adapter",
    ),
    *(
        "pytrec_eval",
        "rapidfuzz",
        "rich.progress",
        "rich.table",
        "rouge_score.rouge_scorer",
        "sacrebleu",
    ),
    *("scipy.stats", "sklearn.cluster", "sklearn.decomposition", "sklearn.feature_extraction.text"),
)
"""None starts a thread when it is imported, or behaves otherwise because another one is there."""


def serve(connection: socket.socket) -> dict | None:
    """Answer requests until there are no more (None), or in a forked process, which gets the
    command to run.
    """
    between: set[int] = set()
    while True:
        _, files, _, _ = socket.recv_fds(connection, 1, 5)
        if not files:
            return None
        request, *standard, pipe = files
        if (process := os.fork()) != 0:
            for file in files:
                os.close(file)
            between.add(process)
            between.difference_update([each for each in between if os.waitpid(each, os.WNOHANG)[0]])
            continue
        process = os.fork()
        if process == 0:
            connection.close()
            os.close(pipe)
            for number, file in enumerate(standard):
                os.dup2(file, number)
                os.close(file)
            with os.fdopen(request, encoding="utf-8") as lines:
                return json.load(lines)
        for file in (request, *standard):
            os.close(file)
        with suppress(BrokenPipeError):  # whoever has started it need not hear how it ends
            os.write(pipe, process.to_bytes(4))
            _, status = os.waitpid(process, 0)
            os.write(pipe, os.waitstatus_to_exitcode(status).to_bytes(4, signed=True))
        os._exit(0)


def become(command: dict) -> None:
    """Make this process as `python -m convrag` would begin: its folder, environment, arguments and
    random numbers.
    """
    if command["session"]:
        os.setsid()
    if command["terminal"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(command["folder"])
    os.environ.clear()
    os.environ.update(command["environment"])
    added = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    first = [] if command["code"] else [str(Path.cwd())]  # as by python -P
    sys.path[:1] = [*first, *added]  # in place of this file's folder
    sys.argv = ["-c" if command["code"] else "convrag", *command["arguments"]]
    if os.environ.get("PYTHONWARNINGS") == "ignore":
        warnings.simplefilter("ignore")
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()


def leave(ending: SystemExit) -> None:
    """End this process as Python would, but for taking down every module, which is a quarter of a
    short command.
    """
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(ending.code or 0))


if __name__ == "__main__":
    for setting in (
        "LITELLM_LOCAL_MODEL_COST_MAP",
        "MLFLOW_DISABLE_TELEMETRY",
    ):  # as our plugins have it
        os.environ.setdefault(setting, "True")
    for library in (*LIBRARIES, *sys.argv[2:]):
        with suppress(ImportError):
            importlib.import_module(library)
    gc.collect()
    gc.freeze()
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # a forked process takes it, and this one ends with the tests
    if (command := serve(socket.socket(fileno=int(sys.argv[1])))) is not None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # `nohup pytest` ignores it
        become(command)
        try:
            if command["code"]:
                exec(command["code"], {"__name__": "__main__"})
                sys.exit()
            runpy.run_module("convrag", run_name="__main__", alter_sys=True)
        except SystemExit as ending:
            leave(ending)
