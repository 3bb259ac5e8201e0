"""Finds the heavy libraries that a module imports, by importing it in a new process."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

HEAVY = frozenset(
    {
        "bertopic",
        "bm25s",
        "elasticsearch",
        "faiss",
        "hdbscan",
        "ir_measures",
        "jax",
        "jinja2",
        "litellm",
        "matplotlib",
        "mlflow",
        "nltk",
        "numpy",
        "openai",
        "pandas",
        "pydantic",
        "rich",
        "rouge_score",
        "sacrebleu",
        "scipy",
        "sentence_transformers",
        "sklearn",
        "spacy",
        "tensorflow",
        "torch",
        "transformers",
        "umap",
    }
)
"""Libraries that take long to import. Modules of plugins import them inside functions, not at the top."""

_CODE = "import sys; import {module}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"


@cache
def find_heavy_imports(module: str) -> tuple[str, ...]:
    """Find the libraries of HEAVY that are imported with a module. Raises ImportError if the import fails."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", _CODE.format(module=module)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ImportError(f"{module} cannot be imported by itself:\n{done.stderr}")
    return tuple(name for name in done.stdout.splitlines()[-1].split() if name in HEAVY)
