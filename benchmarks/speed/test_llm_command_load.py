"""The whole command with 64 conversations at once, by two clients (-s prints figures).

The server is a process of its own that costs next to nothing. The ideal is 8 turns, one after the
other, and nothing else: the share of it is counted from the command's start, and from the first
turn (which is what the summary says).
"""

import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from delayed_llm import delayed_llm

AT_ONCE, TURNS, PASSAGES, ROUNDS = 64, 8, 1000, 3
WORDS = [
    "dog",
    "space",
    "rocket",
    "orbit",
    "engine",
    "moon",
    "star",
    "crew",
    "suit",
    "fuel",
    "window",
    "night",
    "signal",
    "radio",
    "heat",
    "shield",
]


class Shares(NamedTuple):
    """Shares of the ideal, and milliseconds of processor time for each call."""

    start: float
    first_turn: float
    processor: float


def write_data(folder: Path) -> list[str]:
    """Write passages and conversations; return the overrides that choose them."""
    passages, talks = folder / "passages.jsonl", folder / "talks.jsonl"
    with passages.open("w", encoding="utf-8") as file:
        for n in range(PASSAGES):
            text = " ".join(WORDS[(n * step + step) % len(WORDS)] for step in range(1, 60))
            file.write(json.dumps({"_id": f"p{n}", "text": f"Passage {n}: {text}."}) + "\n")
    with talks.open("w", encoding="utf-8") as file:
        for n in range(AT_ONCE):
            turns = [
                {"question": f"What of {WORDS[(n + turn) % len(WORDS)]} {n}?"}
                for turn in range(TURNS)
            ]
            file.write(json.dumps({"id": f"c{n}", "turns": turns}) + "\n")
    return ["dataset=jsonl", f"dataset.corpus={passages}", f"dataset.conversations={talks}"]


def run(folder: Path, option: str, address: str, delay: float) -> Shares:
    """Run the command on an empty store."""
    folder.mkdir()
    model = [
        f"llm={option}",
        "llm.model=openai/m",
        f"llm.api_base={address}",
        "rewriter=none",
        "generator=direct",
    ]
    given = [*write_data(folder), *model, f"workers={AT_ONCE}", "tracker=none", "hydra.run.dir=out"]
    before, start = os.times(), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "convrag", *given], cwd=folder, check=True, capture_output=True
    )
    took, after = time.perf_counter() - start, os.times()
    spent = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    summary = json.loads((folder / "out/metrics.json").read_text(encoding="utf-8"))
    asked = {
        stage: usage["calls"] for stage, usage in summary["usage"].items() if usage["prompt_tokens"]
    }
    assert asked == {"generator": AT_ONCE * TURNS}, "the ideal is one call a turn"
    ideal = TURNS * delay
    return Shares(ideal / took, ideal / summary["seconds"], 1000 * spent / (AT_ONCE * TURNS))


@pytest.mark.parametrize("delay", [1.0, 0.1])
def test_the_whole_command(delay: float, tmp_path: Path) -> None:
    options = ["openai_compatible", *(["litellm"] if find_spec("litellm") else [])]
    found: dict[str, list[Shares]] = {option: [] for option in options}
    with delayed_llm(delay) as address:
        for n in range(ROUNDS):
            for option in options:
                found[option].append(run(tmp_path / f"{option}{n}", option, address, delay))
    for option, rounds in found.items():
        print(
            f"{delay:g} s, llm={option}: of the ideal, from the start {[f'{r.start:.2f}' for r in rounds]},"
        )
        print(f"  from the first turn {[f'{r.first_turn:.2f}' for r in rounds]};")
        print(
            f"  processor {[f'{r.processor:.1f}' for r in rounds]} ms a call, the command's start included"
        )
    cheapest = {option: min(r.processor for r in rounds) for option, rounds in found.items()}
    assert cheapest["openai_compatible"] <= min(cheapest.values())
