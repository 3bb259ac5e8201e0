"""64 conversations at once with a language model: frameworks, bare clients and convrag."""

import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from environments import list_pinned, make_environment
from options import Options
from pages import make_table
from plots import Bars
from programs import run_peer

AT_ONCE = 64
PEERS = {
    "openai": ("chat_openai", "chat_openai"),
    "litellm": ("chat_litellm", "chat_litellm"),
    "LangChain": ("chat_langchain", "chat_langchain"),
    "LlamaIndex": ("chat_llama_index", "chat_llama_index"),
    "Haystack": ("chat_haystack", "chat_haystack"),
}
"""Name -> environment and program."""
OURS = {
    "convrag, `llm=openai_compatible` alone": (
        "chat_convrag_llm",
        "openai_compatible",
        ("threads",),
    ),
    "convrag, whole turns, `llm=openai_compatible`": (
        "chat_convrag",
        "openai_compatible",
        ("threads", "asyncio"),
    ),
    "convrag, whole turns, `llm=litellm`": ("chat_convrag", "litellm", ("threads", "asyncio")),
}
NAMED = {
    "chat_openai": "openai",
    "chat_litellm": "litellm",
    "chat_langchain": "langchain-openai",
    "chat_llama_index": "llama-index-core",
    "chat_haystack": "haystack-ai",
}
"""Environment -> the package whose version the page names."""


def measure(options: Options) -> dict[str, Any]:
    """Every library in threads and in an event loop, in turns, so that all share the hour's load.

    Returns:
        `rows`: seconds of the server -> "library, way" -> each round's wall seconds and
            milliseconds a call; `turns`.
    """
    commands: dict[str, tuple[Path, str, str, list[str]]] = {}
    for name, (environment, program) in PEERS.items():
        for way in ("threads", "asyncio"):
            commands[f"{name}, {way}"] = (make_environment(environment), program, way, [])
    for name, (program, llm, ways) in OURS.items():
        for way in ways:
            commands[f"{name}, {way}"] = (Path(sys.executable), program, way, [llm])
    turns = 2 if options.small else 5
    rows: dict[str, dict[str, list[dict[str, float]]]] = {}
    for delay in (0.1,) if options.small else (0.1, 1.0):
        found: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
        with _serve(delay) as address:
            for _ in range(1 if options.small else options.rounds):
                for name, (python, program, way, more) in commands.items():
                    found[name].append(
                        run_peer(python, program, address, turns, way, *more, seconds=300)
                    )
        rows[f"{delay:g}"] = found
    pinned = {package: list_pinned(environment)[package] for environment, package in NAMED.items()}
    return {"versions": pinned, "turns": turns, "rows": rows}


@contextmanager
def _serve(seconds: float) -> Iterator[str]:
    """The address of a server on loopback that takes so long for each reply."""
    command = [sys.executable, str(Path(__file__).parent / "delayed_llm.py"), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


def format_result(measured: dict[str, Any]) -> str:
    """Make a table: the median share of the ideal, and milliseconds of the processor, by server."""
    rows, turns = measured["rows"], measured["turns"]
    cells = []
    for name, cost in _compute_costs(rows).items():
        shares = [_compute_share(float(delay), turns, found[name]) for delay, found in rows.items()]
        cells.append([name, *(f"{share:.2f}" for share in shares), f"{cost:.1f}"])
    heading = ["", *(f"of the ideal, {delay} s a reply" for delay in rows), "processor, ms a call"]
    return make_table(heading, sorted(cells, key=lambda row: float(row[-1])))


def list_bars(measured: dict[str, Any]) -> Bars:
    """The processor's milliseconds for a call."""
    return Bars(
        "A call from 64 conversations, ms of the processor", _compute_costs(measured["rows"])
    )


def _compute_costs(rows: dict[str, dict[str, list[dict[str, float]]]]) -> dict[str, float]:
    names = next(iter(rows.values()))
    return {
        name: statistics.median(
            each["cpu_ms_a_call"] for found in rows.values() for each in found[name]
        )
        for name in names
    }


def _compute_share(delay: float, turns: int, rounds: list[dict[str, float]]) -> float:
    return statistics.median(delay * turns / each["wall_s"] for each in rounds)
