"""What T5 models need to be installed."""

from __future__ import annotations

from importlib.util import find_spec

from convrag.errors import MissingExtra
from convrag_neural.models import local_folder


def missing_t5_library(tokenizer: str, needed_by: str) -> MissingExtra | None:
    """The first library that is not installed, of those that a T5 model and its tokenizer (folder or name) need."""
    needed = {"torch": "torch", "transformers": "transformers"}
    if _needs_conversion(tokenizer):
        needed |= {"sentencepiece": "sentencepiece", "google.protobuf": "protobuf"}
    missing = [library for module, library in needed.items() if not _installed(module)]
    return MissingExtra(missing[0], "convrag[neural]", needed_by) if missing else None


def _needs_conversion(tokenizer: str) -> bool:
    """Whether it has T5's own format, as the published models do, which transformers cannot read alone."""
    folder = local_folder(tokenizer)
    return folder is None or ((folder / "spiece.model").is_file() and not (folder / "tokenizer.json").is_file())


def _installed(module: str) -> bool:
    parent = module.rpartition(".")[0]
    return (not parent or find_spec(parent) is not None) and find_spec(module) is not None
