"""Pretrained models of the transformers library, from a folder or the local cache; nothing is downloaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from convrag import ConvragError
from convrag.registry.extras import is_installed

EXTRAS: Mapping[str, str] = {"torch": "convrag[neural]", "transformers": "convrag[neural]"}
"""Module -> the extra that installs it."""

_ROBERTA = ("roberta", "xlm-roberta", "camembert")  # the first positions of these models are reserved


def find_model(name: str) -> str:
    """What the library is to load: a folder with a config.json, or a model's name in the cache; empty for neither."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return str(folder) if (folder / "config.json").is_file() else ""
    if not is_installed("huggingface_hub") or folder.is_absolute() or name.startswith((".", "~")):
        return ""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        return name if isinstance(try_to_load_from_cache(name, "config.json"), str) else ""
    except HFValidationError:
        return ""


def load_pretrained(name: str, model_class: Any, device: str) -> tuple[Any, Any]:
    """The tokenizer and the model, ready for inference on a device.

    Args:
        name: a folder, or the name of a model in the local cache of the Hugging Face hub.
        model_class: the library's class that loads it ("AutoModel" and the like).
        device: cpu, cuda or mps.

    Raises:
        ConvragError: it cannot be loaded.
    """
    from transformers import AutoTokenizer

    try:
        with _hide_progress_bars():
            tokenizer = AutoTokenizer.from_pretrained(name, local_files_only=True)
            model = model_class.from_pretrained(name, local_files_only=True).to(device).eval()
    except Exception as error:  # the libraries raise exceptions of many classes
        raise ConvragError(f"the model {name!r} cannot be loaded: {error}") from error
    return tokenizer, model


def find_max_length(tokenizer: Any, config: Any) -> int:
    """The most tokens of a text that a model reads, special tokens included."""
    positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    reserved = config.pad_token_id + 1 if config.model_type in _ROBERTA else 0
    return int(min(tokenizer.model_max_length, positions - reserved))


@contextmanager
def _hide_progress_bars() -> Iterator[None]:
    """Switch off the library's own progress bars, which it draws where there is no terminal too."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
