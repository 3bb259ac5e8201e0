"""What computes a model (torch or OpenVINO), on which device, and in batches of what size."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from convrag import ConfigError
from convrag.sdk.errors import MissingExtra
from convrag.sdk.identity import digest, find_version, hash_modules
from convrag.sdk.libraries import is_installed, missing_extra
from convrag.sdk.model_files import find_local_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Backend = Literal["auto", "torch", "openvino", "openvino_bf16"]
Computing = Literal["torch", "openvino", "openvino_bf16"]
"""A backend that computes: what `auto` becomes."""

OPENVINO: Mapping[str, str] = {"openvino": "convrag[openvino]"}
"""The module of the backends other than torch, and what to install for it."""

EXPORTED = frozenset({"albert", "bert", "camembert", "distilbert", "electra", "mpnet", "roberta", "xlm-roberta"})
"""The architectures (`model_type` in config.json) that `auto` exports: those that the tests compare with torch."""


def check_backend(group: str, backend: Backend, device: str) -> None:
    """Raise ConfigError where a device is asked for that the backend does not run on."""
    if backend not in ("auto", "torch") and device not in ("auto", "cpu"):
        raise ConfigError(
            f"{group}.backend={backend} runs on the CPU, and {group}.device={device} asks for another device: "
            "leave out one of them"
        )


def choose_backend(device: str, model: str, revision: str | None) -> Computing:
    """Choose what `auto` stands for: the fastest backend here that gives the same vectors to some six digits.

    Args:
        device: as it is configured.
        model: folder or name; one whose architecture is not in `EXPORTED`, or that is not float32, runs on torch.
        revision: the commit of a model on the hub.
    """
    if not is_installed("openvino") or device not in ("auto", "cpu"):
        return "torch"
    config = _read_config(model, revision)
    kinds = config.get("torch_dtype", config.get("dtype")) or "float32", config.get("model_type")
    if kinds[0] != "float32" or kinds[1] not in EXPORTED or "auto_map" in config:
        return "torch"
    return "torch" if device == "auto" and _has_gpu() else "openvino"


def identify_backend(backend: Computing) -> str:
    """Hash what bears on a backend's results beside the model and torch: its library, and how it is exported."""
    if backend == "torch":
        return ""
    return digest([backend, identify_export()])


def identify_export() -> str:
    """Hash what bears on an exported network beside the model: the library, and how it is exported."""
    return digest([find_version("openvino"), hash_modules("convrag_neural.exporting")])


def find_missing_extra(backend: Computing) -> MissingExtra | None:
    """Find the modules of a backend that are not installed; None where all are."""
    return None if backend == "torch" else missing_extra(OPENVINO, f"backend={backend}")


def describe_backend(backend: Computing) -> str:
    """Name a backend with its version: "openvino 2026.4.1"."""
    return f"{backend} {find_version(backend.partition('_')[0])}"


def _has_gpu() -> bool:
    """Whether torch would choose a GPU; torch is not imported where its build is for CPUs alone."""
    if find_version("torch").endswith("+cpu"):
        return False
    return find_device("auto") != "cpu"


def _read_config(model: str, revision: str | None) -> dict[str, Any]:
    """Read a model's config.json, from its folder, the cache or the hub; {} where it cannot be read."""
    try:
        if (folder := find_local_folder(model)) is not None:
            path = folder / "config.json"
        else:
            from huggingface_hub import hf_hub_download

            path = Path(hf_hub_download(model, "config.json", revision=revision))
        config = json.loads(path.read_text(encoding="utf-8"))
    except Exception:  # offline, no such model, no JSON: loading the model says what is wrong
        return {}
    return config if isinstance(config, dict) else {}


def find_device(device: str) -> str:
    """Return the device to run on, as torch names it; for `auto` the fastest that this machine has."""
    if device != "auto":
        return device
    import torch

    there = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "xpu": torch.xpu.is_available(),
    }
    return next((kind for kind, found in there.items() if found), "cpu")


T = TypeVar("T", str, tuple[str, str])

CPU_TOKENS = 1024
"""Tokens of a batch on a CPU, padding included: more do not fit into its caches, and fewer cost calls."""


def compute_in_batches(
    texts: Sequence[T], compute: Callable[[list[T]], NDArray[np.float32]], model: Any, batch_size: int
) -> NDArray[np.float32]:
    """Compute rows for texts or pairs of texts, sorted by length, in batches: one row for each, in the given order.

    Args:
        texts: what to compute rows for; at least one.
        compute: computes the rows of a batch.
        model: of sentence-transformers: its tokenizer and device.
        batch_size: the most texts in a batch.
    """
    import numpy as np

    tokens = _count_tokens(texts, model)
    most = CPU_TOKENS if model.device.type == "cpu" else None
    rows: list[Any] = [None] * len(texts)
    for batch in make_batches(tokens, batch_size, most):
        for place, row in zip(batch, compute([texts[place] for place in batch]), strict=True):
            rows[place] = row
    return np.asarray(rows, dtype=np.float32)


def make_batches(lengths: Sequence[int], batch_size: int, most_tokens: int | None) -> Iterator[list[int]]:
    """Yield the places of texts in batches, the longest first, so that memory runs out at once or never.

    Args:
        lengths: tokens of each text.
        batch_size: the most texts in a batch.
        most_tokens: of a batch, with every text padded to the longest; a longer text is a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda place: (-lengths[place], place))
    while order:
        fitting = most_tokens // max(lengths[order[0]], 1) if most_tokens else batch_size
        size = max(1, min(batch_size, fitting))
        yield order[:size]
        order = order[size:]


def _count_tokens(texts: Sequence[T], model: Any) -> list[int]:
    """Count the tokens of each text that the model reads; with another kind of tokenizer, guess them."""
    from transformers import PreTrainedTokenizerBase

    tokenizer = model.tokenizer
    if not isinstance(tokenizer, PreTrainedTokenizerBase):
        return [sum(map(len, (text,) if isinstance(text, str) else text)) // 4 for text in texts]
    encoded = tokenizer(list(texts), truncation=True, return_attention_mask=False, return_token_type_ids=False)
    return [len(ids) for ids in encoded["input_ids"]]
