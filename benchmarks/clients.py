"""Runs people's clients of OpenAI's protocol against task=serve, and prints what works.

    python benchmarks/clients.py                             all; Open WebUI takes minutes and gigabytes to install
    python benchmarks/clients.py openai instructor           some of them
    python benchmarks/clients.py open_webui --pictures docs/images
    python benchmarks/clients.py --environments /opt/clients

Each client is installed into an environment of its own (benchmarks/.environments;
environments/client_*.txt pin the versions) and asks two questions and a follow-up. The server runs
in this interpreter's environment, without a language model, and for instructor with a scripted one.
Pictures need Playwright and Chromium.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from environments import MADE, list_pinned, make_environment
from pages import make_table
from peers.client_asking import DOCUMENTS
from programs import PEERS

CLIENTS = {
    "openai": ("openai", ("chat", "stream", "responses")),
    "agents": ("openai-agents", ("responses", "chat", "tool")),
    "pydantic_ai": ("pydantic-ai-slim", ("chat", "responses")),
    "instructor": ("instructor", ("plain",)),
    "llama_index": ("llama-index-llms-openai-like", ("chat",)),
    "smolagents": ("smolagents", ("chat",)),
    "langchain": ("langchain-openai", ("chat", "responses")),
    "open_webui": ("open-webui", ("browser",)),
}
"""The clients: name -> the package whose version is told, and the ways that are tried."""

PLAIN = ("instructor",)
"""Clients that need a language model."""


def main() -> None:
    """Run the clients that the command names, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("clients", nargs="*", choices=[*CLIENTS, []], help="which; by default all")
    parser.add_argument("--environments", type=Path, default=MADE, help="where they are installed")
    parser.add_argument("--pictures", type=Path, help="a folder for pictures of Open WebUI")
    chosen = parser.parse_args()
    rows, failed = [], False
    with tempfile.TemporaryDirectory(prefix="convrag-clients-") as scratch, _serve_llm() as llm:
        folder = Path(scratch)
        given = ["llm=openai_compatible", "llm.model=openai/scripted", f"llm.api_base={llm}"]
        with _serve(folder / "rules") as rules, _serve(folder / "plain", *given) as plain:
            for name in chosen.clients or CLIENTS:
                package, ways = CLIENTS[name]
                python = make_environment(f"client_{name}", chosen.environments)
                version = list_pinned(f"client_{name}")[package]
                for way in ways:
                    address = plain if name in PLAIN else rules
                    pictures = (
                        [str(chosen.pictures.absolute())]
                        if chosen.pictures and name == "open_webui"
                        else []
                    )
                    seen, sources = _run(python, name, f"{address}/v1", way, *pictures)
                    failed = failed or seen != "works"
                    rows.append([f"{package} {version}", way, seen, sources])
    sys.stdout.write(make_table(["client", "way", "seen", "sources of the follow-up"], rows) + "\n")
    raise SystemExit(failed)


def _run(python: Path, name: str, *arguments: str) -> tuple[str, str]:
    """Describe what was seen of a client, and how many sources it hands on."""
    runs = (
        Path(sys.executable) if name == "open_webui" else python
    )  # which needs Playwright, and starts the client
    command = [
        str(runs),
        str(PEERS / f"client_{name}.py"),
        *arguments,
        *([str(python)] if runs != python else []),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    if done.returncode:
        sys.stderr.write(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}\n")
        return (done.stderr.strip().splitlines() or ["failed"])[-1][:120].replace("|", "/"), ""
    told = json.loads(done.stdout.strip().splitlines()[-1])
    return "works", "not handed on" if told["sources"] is None else str(told["sources"])


@contextmanager
def _serve(folder: Path, *overrides: str) -> Iterator[str]:
    """The address of a server over the documents that the clients ask about."""
    (folder / "documents").mkdir(parents=True)
    for name, text in DOCUMENTS.items():
        (folder / "documents" / name).write_text(text, encoding="utf-8")
    given = [
        "task.port=0",
        "dataset=documents",
        "dataset.path=documents",
        "store.path=store",
        *overrides,
    ]
    command = [sys.executable, "-m", "convrag", "task=serve", *given]
    environment = {**os.environ, "OPENAI_API_KEY": "none", "HF_HUB_OFFLINE": "1"}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            found = next(
                filter(None, (re.search(r"http://\S+:\d+", line) for line in process.stdout)), None
            )
            assert found, "the server did not start"
            yield found[0]
        finally:
            process.terminate()


class _ScriptedLLM(BaseHTTPRequestHandler):
    """A language model of OpenAI's protocol that knows one body in the sky."""

    def do_POST(self) -> None:
        """Reply."""
        self.rfile.read(int(self.headers["content-length"]))
        text = '```json\n{"name": "Moon", "kilometres": 384400}\n```'
        choice = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": text},
        }
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        head = {"id": "1", "object": "chat.completion", "created": 1, "model": "scripted"}
        body = json.dumps({**head, "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def _serve_llm() -> Iterator[str]:
    """The address of the scripted language model."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _ScriptedLLM)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()


if __name__ == "__main__":
    main()
