"""Pretrained models of transformers, from a folder or the local cache; nothing is downloaded."""

from collections.abc import Mapping
from typing import Any

from convrag import ConvragError
from convrag.sdk.model_files import find_cached_revision, find_local_folder
from convrag.sdk.output.library_logs import hide_transformers_bars

EXTRAS: Mapping[str, str] = {"torch": "convrag[neural]", "transformers": "convrag[neural]"}
"""Module -> the extra that installs it."""

# the first positions of these models are reserved
_ROBERTA = ("roberta", "xlm-roberta", "camembert")


def find_model(name: str) -> str:
    """Find what the library should load; empty where there is no such model.

    It is a folder with a config.json, or the name of a model in the cache.
    """
    folder = find_local_folder(name)
    if folder:
        return str(folder) if (folder / "config.json").is_file() else ""
    return name if find_cached_revision(name) else ""


def load_pretrained(name: str, model_class: Any, device: str) -> tuple[Any, Any]:
    """Load the tokenizer and the model, ready for inference on a device.

    Args:
        name: a folder, or the name of a model in the local cache of the Hugging Face hub.
        model_class: the library's class that loads it ("AutoModel" and the like).
        device: cpu, cuda or mps.

    Raises:
        ConvragError: it cannot be loaded.
    """
    from transformers import AutoTokenizer

    try:
        with hide_transformers_bars():
            tokenizer = AutoTokenizer.from_pretrained(name, local_files_only=True)
            model = model_class.from_pretrained(name, local_files_only=True).to(device).eval()
    except Exception as error:  # the libraries raise exceptions of many classes
        raise ConvragError(f"the model {name!r} cannot be loaded: {error}") from error
    return tokenizer, model


def find_max_length(tokenizer: Any, config: Any) -> int:
    """Find how many tokens of a text a model reads, special tokens included."""
    positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    reserved = config.pad_token_id + 1 if config.model_type in _ROBERTA else 0
    return int(min(tokenizer.model_max_length, positions - reserved))
