"""Which model a name stands for: the files of a folder, or a commit of a repository on the Hugging
Face hub.
"""

from pathlib import Path

from convrag.store.fingerprint import digest, file_hash

_SUFFIXES = frozenset({".json", ".txt", ".model", ".safetensors", ".bin", ".py"})


def find_local_folder(model: str) -> Path | None:
    """Find the folder that a model's name is the path of; None where it is no folder."""
    folder = Path(model).expanduser()
    return folder if folder.is_dir() else None


def identify_model(model: str) -> str:
    """Hash the files of a model in a folder, or return the commit of one in the hub's local cache;
    empty if in neither.

    It belongs into `content_hash()` of a stage with a model: another model under the same name is
    another stage.

    Args:
        model: a folder, or a name on the hub ("BAAI/bge-small-en-v1.5").
    """
    folder = find_local_folder(model)
    if folder is None:
        return find_cached_revision(model)
    files = sorted(
        path for path in folder.rglob("*") if path.suffix in _SUFFIXES and path.is_file()
    )
    return digest([[path.relative_to(folder).as_posix(), file_hash(path)] for path in files])


def find_cached_revision(model: str) -> str:
    """Find the commit that the local cache of the hub has of a model's main branch; empty if it has
    none.
    """
    try:
        from huggingface_hub.constants import HF_HUB_CACHE
    except ImportError:
        return ""
    reference = Path(HF_HUB_CACHE, f"models--{model.replace('/', '--')}", "refs", "main")
    try:
        return reference.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
