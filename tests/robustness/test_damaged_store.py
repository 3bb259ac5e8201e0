"""Damage anywhere in the store's files costs a finished run no turn and changes no score."""

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import run_convrag

pytestmark = pytest.mark.slow

COMMAND = [
    "rewriter=condense",
    "llm=extractive",
    "retriever=hybrid",
    "embedder=lsa",
    "store.path=store",
    "limit=4",
]


def run(folder: Path, name: str) -> tuple[str, str]:
    """Run in a folder; return the scores and answers of its turns, and what was said on standard
    error.
    """
    done = run_convrag([*COMMAND, f"hydra.run.dir={name}"], folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((folder / name / "metrics.json").read_text(encoding="utf-8"))["failed"] == 0
    answers = sorted((folder / name / "datasets").glob("*.jsonl"))
    files = [folder / name / "scores.jsonl", folder / name / "run.trec", *answers]
    return "".join(file.read_text(encoding="utf-8") for file in files), done.stdout + done.stderr


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("finished")
    results, _ = run(folder, "first")
    return folder, results


def list_files(store: Path) -> list[Path]:
    return sorted(path for path in store.rglob("*") if path.is_file() and path.stat().st_size)


def flip_bits(store: Path, chance: random.Random) -> None:
    files = list_files(store)
    for path in chance.choices(files, weights=[path.stat().st_size for path in files], k=30):
        data = bytearray(path.read_bytes())
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)


def harm_each_file(store: Path, chance: random.Random) -> None:
    """A third of the files is cut short, a third has a block of zeros, a third of those in folders
    is deleted.
    """
    for path in list_files(store):
        data = bytearray(path.read_bytes())
        place, kind = chance.randrange(len(data)), chance.randrange(3)
        if kind == 0:
            del data[place:]
        elif kind == 1:
            data[place : place + 512] = bytes(len(data[place : place + 512]))
        path.write_bytes(data)
        if kind == 2 and path.parent != store:
            path.unlink()


@pytest.mark.parametrize("seed", range(int(os.environ.get("CONVRAG_SEEDS", "1"))))
@pytest.mark.parametrize("harm", [flip_bits, harm_each_file])
def test_the_same_run_has_the_same_scores(
    harm: Callable[[Path, random.Random], None],
    seed: int,
    finished: tuple[Path, str],
    tmp_path: Path,
) -> None:
    folder, results = finished
    shutil.copytree(folder / "store", tmp_path / "store")
    harm(tmp_path / "store", random.Random(seed))
    again, said = run(tmp_path, "again")
    assert again == results
    assert str(tmp_path / "store") in said
    assert said.count("computed again") + said.count("built again") < 10
