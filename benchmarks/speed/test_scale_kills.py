"""Indexing of 200,000 passages, killed several times: it resumes at the last shard.

    pytest benchmarks/speed/test_scale_kills.py -n 0 -s

The moments are those at which so many shards of the passages' words, or of their leaders, or so
many megabytes of vectors have been written. At the end the index is that of a build that nobody
disturbed, byte for byte.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

PASSAGES = int(os.environ.get("CONVRAG_BENCHMARK_PASSAGES", "200000"))
HERE = Path(__file__).parent


def count_shards(pattern: str) -> Callable[[Path], int]:
    return lambda store: len(list(store.glob(pattern)))


def measure_journal(store: Path) -> int:
    return sum(path.stat().st_size for path in store.glob("**/embedded/*/*.npz")) >> 20


@pytest.mark.parametrize(
    ("name", "parameters", "measure", "moments"),
    [
        ("bm25", {}, count_shards("**/words/*/*.npz"), (1, 2, 3)),
        ("dense", {}, measure_journal, (1, 100, 250)),
    ],
    ids=["bm25", "dense"],
)
def test_killed_builds_go_on(
    name: str,
    parameters: dict[str, str],
    measure: Callable[[Path], int],
    moments: tuple[int, ...],
    tmp_path: Path,
) -> None:
    folders = [tmp_path / "calm", tmp_path / "killed"]
    if name == "dense":
        script = str(HERE / "test_scale_dense.py")
        subprocess.run(
            [sys.executable, script, str(tmp_path), "vectors", str(PASSAGES), ""], check=True
        )
    commands = {folder: build_command(name, tmp_path, folder, parameters) for folder in folders}
    calm, killed = folders
    took = processor_seconds(commands[calm])
    print(f"{name} {parameters or ''}, {PASSAGES:,} passages, undisturbed: {took:.1f} s")
    for moment in moments:
        with subprocess.Popen(commands[killed], stdout=subprocess.DEVNULL) as process:
            while measure(killed) < moment:
                assert process.poll() is None, "it ended before the moment came"
                time.sleep(0.01)
            process.kill()
        print(f"killed at {moment}: {measure(killed)} kept")
    print(f"the rest: {processor_seconds(commands[killed]):.1f} s of the processor")
    assert [path for kind in ("words", "embedded") for path in killed.glob(f"**/{kind}/*")] == []
    files = [
        {
            path.relative_to(folder): path.read_bytes()
            for path in folder.glob("**/indexes/*/*")
            if path.suffix != ".json"
        }
        for folder in folders
    ]
    assert files[0] == files[1]


def build_command(name: str, vectors: Path, store: Path, parameters: dict[str, str]) -> list[str]:
    if name == "bm25":
        return [
            sys.executable,
            str(HERE / "test_scale_bm25.py"),
            "build",
            str(store),
            str(PASSAGES),
        ]
    store.mkdir()
    for file in ("rows.npy", "queries.npy"):
        (store / file).symlink_to(vectors / file)
    arguments = [str(store), "build", str(PASSAGES), json.dumps(parameters)]
    return [sys.executable, str(HERE / "test_scale_dense.py"), *arguments]


def processor_seconds(command: list[str]) -> float:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, process.returncode, usage = os.wait4(process.pid, 0)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime
