"""A model in ONNX's format in a folder of this machine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convrag import ConvragError
from convrag.sdk.identity import digest, file_hash

MODEL_FILES = ("model.onnx", "onnx/model.onnx")
"""Where exporters put a model; the first one that is there counts."""

_NEEDED = ("config.json", "tokenizer.json", "tokenizer_config.json")
_READ = frozenset({".json", ".onnx", ".onnx_data", ".data", ".txt"})
"""The suffixes of files that bear on results."""

_POOLINGS = {
    "pooling_mode_mean_tokens": "MEAN",
    "pooling_mode_cls_token": "CLS",
    "pooling_mode_lasttoken": "LAST_TOKEN",
}
"""Names in the configuration of sentence-transformers -> names of fastembed's poolings."""

_NEW_POOLINGS = {"mean": "MEAN", "cls": "CLS", "lasttoken": "LAST_TOKEN"}
"""Likewise, for `pooling_mode`, as newer versions write it."""


@dataclass(frozen=True)
class OnnxFolder:
    """A folder with a model, its configuration and its tokenizer."""

    path: Path

    def find_problem(self) -> str:
        """Say which files are missing; empty where none is."""
        if self._find_model_file() is None:
            return (
                f"{self.path} has no {' and no '.join(MODEL_FILES)}: export the model "
                "(optimum-cli export onnx --model NAME FOLDER)"
            )
        missing = [name for name in _NEEDED if not (self.path / name).is_file()]
        return f"{self.path} lacks {', '.join(missing)}" if missing else ""

    @property
    def model_file(self) -> str:
        """The model's file, as a path in the folder. Raises ConvragError where there is none."""
        found = self._find_model_file()
        if found is None:
            raise ConvragError(self.find_problem())
        return found

    def read_pooling(self) -> str:
        """Read how the vectors of tokens become one vector, as fastembed names it.

        Raises ConvragError where the folder does not say.
        """
        described = self._read("1_Pooling/config.json")
        mode = str(described.get("pooling_mode", ""))
        if mode in _NEW_POOLINGS:
            return _NEW_POOLINGS[mode]
        for name, pooling in _POOLINGS.items():
            if described.get(name):
                return pooling
        raise ConvragError(
            f"{self.path} does not say how tokens are pooled (1_Pooling/config.json): set pooling, "
            "as the model's card says (embedder.pooling=mean)"
        )

    def read_max_length(self) -> int | None:
        """Read how many tokens of a text sentence-transformers would read; None for the most."""
        length = self._read("sentence_bert_config.json").get("max_seq_length")
        return length if isinstance(length, int) and length > 0 else None

    def read_width(self) -> int:
        """Read the length of the vectors."""
        return int(self._read("config.json").get("hidden_size", 0))

    def identify(self) -> str:
        """Hash the files that bear on results."""
        paths = [path for path in self.path.rglob("*") if path.suffix in _READ and path.is_file()]
        rows = [[path.relative_to(self.path).as_posix(), file_hash(path)] for path in sorted(paths)]
        return digest(rows)

    def _find_model_file(self) -> str | None:
        for name in MODEL_FILES:
            if (self.path / name).is_file():
                return name
        return None

    def _read(self, name: str) -> dict[str, Any]:
        """Read a JSON file of the folder; empty where it is missing. Raises ConvragError."""
        path = self.path / name
        if not path.is_file():
            return {}
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ConvragError(f"{path} is not JSON: {error}") from error
        return found if isinstance(found, dict) else {}
