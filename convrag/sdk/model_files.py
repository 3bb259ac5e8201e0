"""The identity of a model: the files of its folder, or its commit on the Hugging Face hub."""

from pathlib import Path

from convrag.store.fingerprint import digest, file_hash

_SUFFIXES = frozenset({".json", ".txt", ".model", ".safetensors", ".bin", ".py"})
"""The suffixes of files that bear on results."""


def find_local_folder(model: str) -> Path | None:
    """Find the folder that a model's name is the path of; None for another name."""
    folder = Path(model).expanduser()
    return folder if folder.is_dir() else None


def identify_model(model: str) -> str:
    """Hash the files of a model in a folder, or return its commit in the hub's local cache.

    Empty if it is in neither. It belongs into `content_hash()` of a stage with a model: another
    model under the same name is another stage.

    Args:
        model: a folder, or a name on the hub ("BAAI/bge-small-en-v1.5").
    """
    folder = find_local_folder(model)
    if folder is None:
        return find_cached_revision(model)
    paths = [path for path in folder.rglob("*") if path.suffix in _SUFFIXES and path.is_file()]
    rows = [[path.relative_to(folder).as_posix(), file_hash(path)] for path in sorted(paths)]
    return digest(rows)


def find_cached_revision(model: str) -> str:
    """Find the commit of a model's main branch in the hub's local cache; empty without one."""
    try:
        from huggingface_hub.constants import HF_HUB_CACHE
    except ImportError:
        return ""
    reference = Path(HF_HUB_CACHE, f"models--{model.replace('/', '--')}", "refs", "main")
    try:
        return reference.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
