"""What T5 models need to be installed."""

from __future__ import annotations

from convrag import MissingExtra
from convrag.registry.extras import missing_extra
from convrag_neural.models import local_folder

T5_LIBRARIES = {"torch": "convrag[neural]", "transformers": "convrag[neural]"}
"""For `Stage.requires`."""

_CONVERTERS = {"sentencepiece": "convrag[neural]", "google.protobuf": "convrag[neural]"}


def missing_converter(tokenizer: str, needed_by: str) -> MissingExtra | None:
    """Which library is not installed, of those that read a tokenizer (folder or name) in T5's own format."""
    return missing_extra(_CONVERTERS, needed_by) if _needs_conversion(tokenizer) else None


def _needs_conversion(tokenizer: str) -> bool:
    """Whether it has T5's own format, as the published models do, which transformers cannot read alone."""
    folder = local_folder(tokenizer)
    return folder is None or ((folder / "spiece.model").is_file() and not (folder / "tokenizer.json").is_file())
