"""Where a model's files are: a folder, the local cache of the Hugging Face hub, or the hub itself."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from convrag.store.fingerprint import file_hash

TOKENIZER_FILES = "tokenizer.json", "spiece.model"
"""What a tokenizer of T5 may be kept in: converted for the library tokenizers, or as it was trained."""

_PATIENCE = 10  # seconds for the hub to say whether it has a model


def local_folder(model: str) -> Path | None:
    """The folder that the name of a model means, if it means one."""
    folder = Path(model).expanduser()
    return folder if folder.is_dir() else None


def is_here(model: str) -> bool:
    """Whether a model is on this machine, in a folder or in the cache, so that nothing need be downloaded."""
    if local_folder(model) is not None:
        return True
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(model, "config.json"), str)


def missing_model(model: str) -> str:
    """Why a model cannot be loaded and what to do, or nothing. Asks the hub only for what is not on this machine."""
    if (folder := local_folder(model)) is not None:
        return (
            ""
            if (folder / "config.json").is_file() or (folder / "modules.json").is_file()
            else f"{folder} holds no model"
        )
    if Path(model).is_absolute() or model.startswith(("~", ".")):
        return f"there is no folder {model}: give the path of a model's folder, or a name on the Hugging Face hub"
    from huggingface_hub import HfApi

    try:
        if not is_here(model):
            HfApi().model_info(model, timeout=_PATIENCE)
    except Exception as error:  # offline, no such model, no access: libraries below raise whatever they like
        why = str(error).partition("\n")[0]
        return (
            f"the model {model!r} is no folder, not in the local cache, and cannot be downloaded ({why}): "
            "give the path of a model's folder, or download it where there is a network"
        )
    return ""


def missing_tokenizer(tokenizer: str, model: str) -> str:
    """The same of a model's tokenizer, which in a folder needs no model beside it."""
    folder = local_folder(tokenizer)
    if tokenizer == model and (folder is None or missing_model(model)):
        return ""  # the hub keeps it beside the model; of a model that is not there, that is said
    if folder is None:
        return missing_model(tokenizer)
    there = any((folder / name).is_file() for name in TOKENIZER_FILES)
    return "" if there else f"{folder} holds no tokenizer: name one with tokenizer=..."


def files_hash(model: str) -> str:
    """A hash of a model's files where it is a folder; a model of the hub is known by its name alone."""
    folder = local_folder(model)
    return "" if folder is None else blake2b(repr(list(_hashes(folder))).encode(), digest_size=16).hexdigest()


def _hashes(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in {".json", ".txt", ".model", ".safetensors", ".bin"}:
            yield path.relative_to(folder).as_posix(), file_hash(path)
