"""The faster backends of sentence-transformers: a model is exported once, on this machine, and kept in the store."""

from __future__ import annotations

import logging
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from convrag import ConfigError, Store
from convrag.store.fingerprint import digest, find_version
from convrag.store.source import hash_modules

Backend = Literal["torch", "onnx", "onnx_int8", "openvino", "openvino_int8"]

REQUIRED: Mapping[str, Mapping[str, str]] = {
    "onnx": {"onnxruntime": "convrag[onnx]", "optimum.onnxruntime": "convrag[onnx]"},
    "openvino": {"openvino": "convrag[openvino]", "optimum.intel": "convrag[openvino]"},
}
"""Library ("onnx") -> its modules, and what to install for them."""

_DISTRIBUTIONS = {
    "onnx": ("onnxruntime", "optimum", "optimum-onnx"),
    "openvino": ("nncf", "openvino", "optimum", "optimum-intel"),
}
_CPU_FLAGS = Path("/proc/cpuinfo")


def check_backend(group: str, backend: str, device: str) -> None:
    """Raise ConfigError where a device is asked for that the backend does not run on."""
    if backend != "torch" and device not in ("auto", "cpu"):
        raise ConfigError(
            f"{group}.backend={backend} runs on the CPU, and {group}.device={device} asks for another device: "
            "leave out one of them"
        )


def name_library(backend: Backend) -> str:
    """Name the library of a backend: "onnx" for "onnx_int8"."""
    return backend.partition("_")[0]


def identify_backend(backend: Backend) -> str:
    """Hash what bears on a backend's results beside the model: its libraries, and how numbers are rounded to int8."""
    if backend == "torch":
        return ""
    versions = [find_version(name) for name in _DISTRIBUTIONS[name_library(backend)]]
    return digest([backend, versions, _find_rounding() if backend == "onnx_int8" else ""])


def load_model(
    model_class: Callable[..., Any],
    source: str,
    revision: str | None,
    backend: Backend,
    store: Store | None,
    key: str,
    **options: Any,
) -> Any:
    """Load a model with one of the faster backends, on the CPU; it is exported where the store does not have it.

    Args:
        model_class: SentenceTransformer or CrossEncoder.
        source: folder or name of the model.
        revision: the commit of a model on the hub.
        backend: other than torch.
        store: keeps the exported model; without one it is exported each time.
        key: a hash of the model's files.
        options: further ones of `model_class`, for the exported model.
    """

    def export(folder: Path) -> None:
        _export(model_class, source, revision, backend, folder)

    if store is None:
        with TemporaryDirectory(prefix="convrag-") as name:
            export(Path(name))
            return _load(model_class, Path(name), backend, options)
    exported = digest([model_class.__name__, key, identify_backend(backend), hash_modules(__name__)])
    return _load(model_class, store.folder("models", exported, export), backend, options)


def _export(model_class: Callable[..., Any], source: str, revision: str | None, backend: Backend, folder: Path) -> None:
    """Export a model into a folder, always from its own weights: what else lies beside them may be of any origin."""
    options = {"export": True, **_options(backend)}
    if backend == "openvino_int8":
        options["load_in_8bit"] = True  # the weights; what is computed from them is not rounded
    with _quiet():
        library = name_library(backend)
        model = model_class(source, revision=revision, backend=library, device="cpu", model_kwargs=options)
        model.save_pretrained(str(folder))
        if backend == "onnx_int8":
            from sentence_transformers import export_dynamic_quantized_onnx_model

            export_dynamic_quantized_onnx_model(model, _find_rounding(), str(folder))


def _load(model_class: Callable[..., Any], folder: Path, backend: Backend, options: Mapping[str, Any]) -> Any:
    chosen = _options(backend)
    if backend == "onnx_int8":
        chosen["file_name"] = f"model_qint8_{_find_rounding()}.onnx"
    with _quiet():
        return model_class(str(folder), backend=name_library(backend), device="cpu", model_kwargs=chosen, **options)


def _options(backend: Backend) -> dict[str, Any]:
    if name_library(backend) == "onnx":
        return {"provider": "CPUExecutionProvider"}
    # By itself OpenVINO computes in bfloat16 where the processor can, so that vectors would depend on the machine.
    return {"ov_config": {"INFERENCE_PRECISION_HINT": "f32"}}


def _find_rounding() -> str:
    """Find how ONNX Runtime rounds to int8 on this processor, by sentence-transformers' names."""
    if platform.machine().lower() in ("arm64", "aarch64"):
        return "arm64"
    flags = _CPU_FLAGS.read_text(encoding="utf-8", errors="replace") if _CPU_FLAGS.is_file() else ""
    return next((name for name in ("avx512_vnni", "avx512") if name in flags), "avx2")


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the advice of the libraries to save the exported model, which is done, off the terminal."""
    names = "sentence_transformers.backend.utils", "optimum", "nncf"
    levels = {name: logging.getLogger(name).level for name in names}
    try:
        for name in names:
            logging.getLogger(name).setLevel(logging.ERROR)
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
