"""A whole run over a real server with a real, if senseless, model: `transformers serve` on
loopback.
"""

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from commands import LIBRARIES, run_convrag
from convrag.api.completions import Message, Prompt
from convrag.concurrency.streaming import listen_with
from places import ROOT

NEEDED = ("accelerate", "fastapi", "litellm", "tenacity", "transformers", "uvicorn")
PROGRAM = shutil.which("transformers", path=str(Path(sys.executable).parent))

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        PROGRAM is None or not all(importlib.util.find_spec(name) for name in NEEDED),
        reason="needs transformers[serving]",
    ),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Its address, and the folder that it calls its model."""
    folder = tmp_path_factory.mktemp("llama")
    making = "import sys; sys.path.insert(0, sys.argv[1]); import tiny_llama, pathlib; "
    making += "tiny_llama.save(pathlib.Path(sys.argv[2]))"
    models = ROOT / "tests/support/models"
    subprocess.run(
        [sys.executable, "-c", making, models, folder], check=True, capture_output=True, timeout=120
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    cache = tmp_path_factory.mktemp("hub")
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_CACHE": str(cache),
        "OMP_NUM_THREADS": "1",
    }
    command = [
        str(PROGRAM),
        "serve",
        str(folder),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--device",
        "cpu",
    ]
    with (cache / "log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        _wait_for(f"http://127.0.0.1:{port}/health", process, cache / "log")
        yield f"http://127.0.0.1:{port}/v1", folder
    finally:
        process.terminate()
        process.wait()


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(240):
        if process.poll() is not None:
            break
        try:
            with urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(f"the server did not start:\n{log.read_text()[-2000:]}")


@pytest.mark.slow
def test_a_run(server: tuple[str, Path], tmp_path: Path) -> None:
    address, model = server
    chosen = [
        "llm=openai_compatible",
        f"llm.api_base={address}",
        f"llm.model='openai/{model}'",
        "llm.max_tokens=12",
    ]
    rest = [
        "rewriter=condense",
        "rewriter.gate=always",
        "generator=chat",
        "top_n=1",
        "limit=1",
        "tracker=none",
    ]
    done = run_convrag([*chosen, *rest], tmp_path, libraries=LIBRARIES)
    assert done.returncode in (0, 3), done.stderr  # 3: all of this small model's rewrites were cut
    (file,) = tmp_path.glob("outputs/*/*/intermediate/default.jsonl")
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(records) == 7
    for record in records:
        assert record["agent_response"]
        assert record["error"] == ""
        assert record["usage"]["generator"]["completion_tokens"] >= 1
        assert record["usage"]["generator"]["prompt_tokens"] > len(
            record["original_query"]
        )  # a token a character


@pytest.mark.slow
def test_a_streamed_reply(server: tuple[str, Path]) -> None:
    from convrag_llms.litellm_llm import LiteLLM

    address, model = server
    stage = LiteLLM(model=f"openai/{model}", api_base=address, max_tokens=16, temperature=None)
    heard: list[str] = []
    with listen_with(heard.append):
        completion = stage.complete(Prompt("answer", (Message("user", "Who was Laika?"),)))
    assert len(heard) > 1
    assert "".join(heard).strip() == completion.text
