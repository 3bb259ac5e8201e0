"""Start: seconds to import, to `--help` and to a first run, and what is installed."""

import statistics
from typing import Any

from environments import list_pinned, make_environment, measure_size
from options import Options
from pages import format_number, make_table
from programs import run

IMPORTS = {
    "convrag": ("convrag", "from convrag import Pipeline"),
    "litellm": ("chat_litellm", "import litellm"),
    "openai": ("chat_openai", "from openai import OpenAI"),
    "LangChain": ("chat_langchain", "from langchain_openai import ChatOpenAI"),
    "LlamaIndex": (
        "chat_llama_index",
        "from llama_index.core.chat_engine import SimpleChatEngine;"
        " from llama_index.llms.openai_like import OpenAILike",
    ),
    "Haystack": (
        "chat_haystack",
        "from haystack.components.generators.chat import OpenAIChatGenerator",
    ),
}
COMMANDS = {
    "convrag --help": ["--help"],
    "convrag, the sample": ["hydra.run.dir=out", "tracker=none"],
}


def measure(options: Options) -> dict[str, Any]:
    """Medians of processes that are started in turns; each row names its import or command.

    Returns:
        `rows`: name -> seconds, `sizes`: environment -> megabytes and packages, `versions`.
    """
    pythons = {name: make_environment(name) for name, _ in IMPORTS.values()}
    commands = {"bare Python": [str(pythons["convrag"]), "-c", "pass"]}
    for name, (environment, statement) in IMPORTS.items():
        commands[name] = [str(pythons[environment]), "-c", statement]
    for name, arguments in COMMANDS.items():
        commands[name] = [str(pythons["convrag"]), "-m", "convrag", *arguments]
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in commands}
    for repetition in range(1 + (2 if options.small else options.rounds)):
        for name, command in commands.items():
            folder = options.scratch / f"{name.replace('/', ' ')} {repetition}"
            folder.mkdir()
            took = run(command, folder)
            if repetition:  # the first one compiles the modules
                found[name].append({"cpu_s": took["cpu_s"], "wall_s": took["wall_s"]})
    versions: dict[str, str] = {}
    for environment in pythons:
        if environment != "convrag":
            pinned = list_pinned(environment)
            versions |= {key: pinned[key] for key in pinned if key in _NAMED}
    sizes = {name: measure_size(python) for name, python in pythons.items()}
    return {
        "rows": {name: _summarise(rows) for name, rows in found.items()},
        "sizes": sizes,
        "versions": versions,
    }


_NAMED = ("litellm", "openai", "langchain-openai", "llama-index-core", "haystack-ai")


def _summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    medians = {key: round(statistics.median(row[key] for row in rows), 3) for key in rows[0]}
    return medians | {"all_cpu_s": [row["cpu_s"] for row in rows]}


def format_result(measured: dict[str, Any]) -> str:
    """One table: the processor's seconds, and the environment's size."""
    cells = []
    for name, row in measured["rows"].items():
        environment = IMPORTS[name][0] if name in IMPORTS else ""
        size = measured["sizes"].get(environment, {})
        statement = f"`{IMPORTS[name][1]}`" if name in IMPORTS else ""
        shown = [format_number(row["cpu_s"])]
        cells.append(
            [
                name,
                statement,
                *shown,
                format_number(size.get("megabytes")),
                format_number(size.get("packages"), 1),
            ]
        )
    return make_table(["", "what is run", "processor, s", "installed, MB", "packages"], cells)
