"""The files of a model: in a folder, in the local cache of the Hugging Face hub, or on the hub."""

from pathlib import Path

from convrag.sdk.model_files import find_cached_revision, find_local_folder

TOKENIZER_FILES = "tokenizer.json", "spiece.model"
"""The files that a T5 tokenizer may be kept in: converted for the library tokenizers, or in its own format."""

_HUB_TIMEOUT = 10  # seconds


def is_local(model: str) -> bool:
    """Whether a model is on this machine, in a folder or in the cache, so that nothing is downloaded."""
    if find_local_folder(model) is not None:
        return True
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(model, "config.json"), str)


def find_model_problem(model: str) -> str:
    """Say why a model cannot be loaded, and what to do; empty where it can. Asks the hub for what is not local."""
    if (folder := find_local_folder(model)) is not None:
        return (
            ""
            if (folder / "config.json").is_file() or (folder / "modules.json").is_file()
            else f"{folder} holds no model"
        )
    if Path(model).is_absolute() or model.startswith(("~", ".")):
        return f"there is no folder {model}: give the path of a model's folder, or a name on the Hugging Face hub"
    from huggingface_hub import HfApi

    try:
        if not is_local(model):
            HfApi().model_info(model, timeout=_HUB_TIMEOUT)
    except Exception as error:  # offline, no such model, no access: no common exception is documented
        why = str(error).partition("\n")[0]
        return (
            f"the model {model!r} is no folder, not in the local cache, and cannot be downloaded ({why}): "
            "give the path of a model's folder, or download it where there is a network"
        )
    return ""


def find_tokenizer_problem(tokenizer: str, model: str) -> str:
    """Say why a tokenizer cannot be loaded, and what to do; empty where it can. A folder needs no model beside it.

    Args:
        tokenizer: folder or name.
        model: folder or name of the model that it is for. What is wrong with the model itself is not repeated.
    """
    folder = find_local_folder(tokenizer)
    if tokenizer == model and (folder is None or find_model_problem(model)):
        return ""  # on the hub it comes with the model; a folder without a model has a message of its own
    if folder is None:
        return find_model_problem(tokenizer)
    present = any((folder / name).is_file() for name in TOKENIZER_FILES)
    return "" if present else f"{folder} holds no tokenizer: name one with tokenizer=..."


def find_revision(model: str) -> str | None:
    """Find the commit of a model on the hub: of the local cache, or else the newest; None for a folder, and offline."""
    if find_local_folder(model) is not None:
        return None
    if cached := find_cached_revision(model):
        return cached
    from huggingface_hub import HfApi

    try:
        sha: str | None = HfApi().model_info(model, timeout=_HUB_TIMEOUT).sha
    except Exception:  # offline, no such model, no access, which `find_model_problem` says
        return None
    return sha
