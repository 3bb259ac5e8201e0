"""Budgets of the kernel: start-up, a turn, conversations side by side (-s prints them)."""

import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import toys
from convrag.api.answers import Answer
from convrag.api.queries import Rewrite
from convrag.config.settings import Settings
from convrag.run.workers import ConversationWorkers
from convrag.turn.pipeline import Pipeline

BARE = """
import hydra
@hydra.main(version_base="1.3", config_path=None)
def main(cfg): pass
main()
"""


class Plain(toys.ShoutingRewriter):
    def rewrite(self, question: Any) -> Rewrite:
        return Rewrite.of(question.text)


class Slow(toys.QuotingGenerator):
    def generate(self, question: Any, evidence: Any) -> Answer:
        time.sleep(0.05)
        return Answer("done")


def pipeline(generator: Any, **settings: Any) -> Pipeline:
    return Pipeline(
        rewriter=Plain(llm=toys.EchoLLM()),
        retriever=toys.ListRetriever(),
        reranker=toys.EvenRanker(),
        context=toys.PlainContext(),
        generator=generator,
        settings=Settings(**settings),
    )


def processor_seconds(command: list[str], folder: Path) -> float:
    """Measure a process that finds its bytecode, as a second start does."""
    environment = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize(("argument", "times"), [("--help", 1.25), ("task=plugins", 2.0)])
def test_starting_up_beside_a_bare_hydra_app(argument: str, times: float, tmp_path: Path) -> None:
    (tmp_path / "bare.py").write_text(BARE)
    ours, bare = [sys.executable, "-m", "convrag", argument], [sys.executable, "bare.py", "--help"]
    pairs = [
        (processor_seconds(ours, tmp_path), processor_seconds(bare, tmp_path)) for _ in range(8)
    ][1:]
    ratio = statistics.median(one / other for one, other in pairs)
    print(f"{argument}: {ratio:.2f} times a bare Hydra app in processor time")
    assert ratio <= times


def test_the_kernel_adds_less_than_a_millisecond_to_a_turn() -> None:
    chat = pipeline(toys.QuotingGenerator())
    took = []
    for number in range(300):
        start = time.perf_counter()
        chat.turn(f"c{number % 30}", "what is it?")
        took.append(time.perf_counter() - start)
    print(f"a turn of stages that do nothing: {1000 * statistics.median(took):.3f} ms")
    assert statistics.median(took) < 0.001


@pytest.mark.parametrize("workers", [16, 64])
def test_conversations_side_by_side_wait_together(workers: int) -> None:
    scripts = [toys.talk(f"c{n}", *["what?"] * 8) for n in range(workers)]
    start = time.perf_counter()
    settings = Settings(workers=workers)
    done = list(ConversationWorkers(pipeline(Slow(), workers=workers), scripts, settings).records())
    took = time.perf_counter() - start
    print(f"{workers} conversations: {8 * 0.05 / took:.2f} of the ideal throughput")
    assert len(done) == 8 * workers
    assert 8 * 0.05 / took > 0.8
