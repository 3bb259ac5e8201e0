"""Each option that asks a language model, in a run of two turns with a real one.

    PYTHONPATH=tests/support python tests/support/asked_options.py small.gguf

prints the table of docs/llms.md.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convrag.api.groups import GROUPS, options_group
from convrag.registry import plugins
from places import ROOT
from small_model import MAX_TOKENS, list_overrides, load
from tasks import run_task

SAMPLE = ROOT / "plugins/convrag_datasets/sample"

LONG_REPLIES = frozenset({"detector=llm"})
"""Options whose replies repeat a passage: one that is cut is an error."""

TURNS = {"memory=summary": 3}
"""Option -> turns that it needs before it asks; two are enough for the others."""

BASE = (
    "rewriter=none",
    "generator=direct",
    "generator.llm=extractive",
    "detector=sentences",
    "summarizer.llm=extractive",
    "metrics=[ranking]",
    "top_k=3",
    "top_n=1",
    "workers=1",
    "tracker=none",
)
"""A run whose stages ask no model."""

_GINGER = ("generator=ginger", "generator.llm=extractive")

OTHER: dict[str, Sequence[str]] = {
    "dataset=simulated": ("dataset.llm=llama_cpp", "dataset.turns=2", "limit=1"),
    "metrics=goal_success": ("dataset=simulated", "dataset.turns=2", "limit=1"),
    "memory=summary": ("memory.recent=1", "memory.block=1", "rewriter=last_n"),
    "memory=forgetting": ("rewriter=last_n",),
    "generator=baseline": ("generator.llm=llama_cpp",),
    "generator=chat": ("generator.llm=llama_cpp",),
    "generator=cot": ("generator.llm=llama_cpp",),
    "generator=direct": ("generator.llm=llama_cpp",),
    "generator=ginger": ("generator.llm=llama_cpp", "generator.fluency=true"),
    "detector=auto": _GINGER,
    "detector=llm": _GINGER,
    "summarizer=llm": (*_GINGER, "summarizer.llm=llama_cpp"),
}
"""Option -> overrides without which it would ask nothing in two turns."""

TEMPLATE_TOKENS = re.compile(r"<\|[a-z_]+\|>|</?think>")
"""Tokens of chat templates, which no answer, query or quotation may have."""


@dataclass(frozen=True)
class Attempt:
    """What came of a run.

    Args:
        status: of the command.
        printed: by the command.
        rows: the records of its turns.
        scores: its metrics.json.
        seconds: that it took.
        evaluated: tokens that the model evaluated, of prompts and replies.
    """

    status: int
    printed: str
    rows: Sequence[Mapping[str, Any]]
    scores: Mapping[str, Any]
    seconds: float
    evaluated: int

    @property
    def fallbacks(self) -> list[tuple[str, str]]:
        """Stages that fell back, with the reasons."""
        return [pair for row in self.rows for pair in row["fallbacks"].items()]


def list_options() -> Iterator[tuple[str, str]]:
    """Yield group and name of each option of ours that has a language model among its stages."""
    for group in GROUPS:
        if group != options_group(group):
            continue
        for option in plugins.load().registry.options(group).values():
            groups = {parameter.group for parameter in option.parameters.values()}
            if option.distribution == plugins.FIRST_PARTY and "llm" in groups:
                yield group, option.name


def try_option(group: str, name: str, model: Path, folder: Path) -> Attempt:
    """Run an option over two turns; no other stage asks the model."""
    loaded = load(model)
    before = loaded.llama.evaluated
    start = time.perf_counter()
    done = run_task(make_overrides(group, name, model, folder), folder)
    seconds = time.perf_counter() - start
    rows = []
    for path in sorted(folder.glob("out/intermediate/*.jsonl")):
        rows += [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    scores = folder / "out/metrics.json"
    return Attempt(
        done.returncode,
        done.stdout + done.stderr,
        rows,
        json.loads(scores.read_text(encoding="utf-8")) if scores.is_file() else {},
        seconds,
        loaded.llama.evaluated - before,
    )


def make_overrides(group: str, name: str, model: Path, folder: Path) -> list[str]:
    """Make the overrides of the run."""
    place = "reranker" if group == "ranker" else group
    choice = f"metrics=[{name}]" if group == "metrics" else f"{place}={name}"
    parameters = f"metrics.{name}" if group == "metrics" else place
    chosen = [choice, *OTHER.get(f"{group}={name}", ())]
    parameters_of_option = plugins.load().registry.options(group)[name].parameters
    if "max_tokens" in parameters_of_option and f"{group}={name}" not in LONG_REPLIES:
        chosen.append(f"{parameters}.max_tokens={MAX_TOKENS}")
    turns = TURNS.get(f"{group}={name}", 2)
    data = [] if "dataset=simulated" in chosen else list_data(folder / "data", turns)
    overrides = {}
    for override in (*BASE, *data, *chosen):
        key, _, value = override.partition("=")
        overrides[key] = value
    lines = [f"{key}={value}" for key, value in overrides.items()]
    for line in [line for line in lines if line.endswith(".llm=llama_cpp")]:
        lines.remove(line)
        lines += list_overrides(model, line.removesuffix("=llama_cpp"))
    return [*list_overrides(model), *lines, f"store.path={folder / 'store'}"]


def list_data(folder: Path, turns: int) -> list[str]:
    """Write the first turns of the sample, and list the overrides that choose them."""
    folder.mkdir()
    first = (SAMPLE / "conversations.jsonl").read_text(encoding="utf-8").splitlines()[0]
    conversation = json.loads(first)
    conversation["turns"] = conversation["turns"][:turns]
    path = folder / "conversations.jsonl"
    path.write_text(json.dumps(conversation), encoding="utf-8")
    header, *judgements = (SAMPLE / "qrels/dev.tsv").read_text(encoding="utf-8").splitlines()
    ids = tuple(f"{conversation['id']}<::>{number}\t" for number in range(1, turns + 1))
    of_turns = [line for line in judgements if line.startswith(ids)]
    qrels = folder / "dev.tsv"
    qrels.write_text("\n".join([header, *of_turns, ""]), encoding="utf-8")
    return [
        "dataset=jsonl",
        f"dataset.conversations={path}",
        f"dataset.corpus={SAMPLE / 'corpus.jsonl'}",
        f"dataset.qrels={qrels}",
    ]


def format_row(group: str, name: str, attempt: Attempt) -> str:
    """Format the row of an option in the table."""
    reasons = sorted({f"{stage}: {reason}" for stage, reason in attempt.fallbacks})
    outcome = "; ".join(reasons) or "no fallback"
    return f"| `{group}={name}` | {attempt.evaluated} | {outcome} | {attempt.seconds:.0f} |"


def main(model: str, *names: str) -> None:
    """Print the table."""
    for group, name in list_options():
        if names and f"{group}={name}" not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            attempt = try_option(group, name, Path(model), Path(folder))
        sys.stdout.write(f"{format_row(group, name, attempt)}\n")
        if attempt.status:
            sys.stdout.write(f"STATUS {attempt.status} {attempt.printed[-800:]}\n")
        for row in attempt.rows:
            if row["error"]:
                sys.stdout.write(f"ERROR {row['error']}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
