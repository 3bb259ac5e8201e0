"""Finds models on this machine and on the Hugging Face hub, and says why one cannot be loaded."""

from pathlib import Path

from convrag.sdk.model_files import find_cached_revision, find_local_folder

TOKENIZER_FILES = ("tokenizer.json", "spiece.model")
"""The files of a T5 tokenizer: converted for the library tokenizers, or in its own format."""

_HUB_TIMEOUT = 10
"""Seconds for a request to the hub."""


def is_local(model: str) -> bool:
    """Whether a model is on this machine, in a folder or in the cache of the hub."""
    return bool(find_local_folder(model) or find_cached_revision(model))


def find_model_problem(model: str) -> str:
    """Say why a model cannot be loaded, and what to do; empty where it can.

    The hub is asked for a model that is not local.
    """
    folder = find_local_folder(model)
    if folder is not None:
        has_model = (folder / "config.json").is_file() or (folder / "modules.json").is_file()
        return "" if has_model else f"{folder} holds no model"
    if Path(model).is_absolute() or model.startswith(("~", ".")):
        return (
            f"there is no folder {model}: give the path of a model's folder, or a name on the "
            "Hugging Face hub"
        )
    if is_local(model):
        return ""
    from huggingface_hub import HfApi

    try:
        HfApi().model_info(model, timeout=_HUB_TIMEOUT)
    except Exception as error:  # offline, no such model, no access: none in common is documented
        reason = str(error).partition("\n")[0]
        return (
            f"the model {model!r} is not a folder, not in the local cache, and cannot be "
            f"downloaded ({reason}): give the path of a model's folder, or download it where "
            "there is a network"
        )
    return ""


def find_tokenizer_problem(tokenizer: str, model: str) -> str:
    """Say why a tokenizer cannot be loaded, and what to do; empty where it can.

    Args:
        tokenizer: folder or name; a folder needs no model in it.
        model: folder or name of the model that it is for. A problem of the model itself is not
            repeated.
    """
    folder = find_local_folder(tokenizer)
    # On the hub it comes with the model; a folder without a model has a message of its own.
    if tokenizer == model and (folder is None or find_model_problem(model)):
        return ""
    if folder is None:
        return find_model_problem(tokenizer)
    present = any((folder / name).is_file() for name in TOKENIZER_FILES)
    return "" if present else f"{folder} holds no tokenizer: name one with tokenizer=..."


def find_revision(model: str) -> str | None:
    """Find the commit of a model on the hub: that of the local cache, or else the newest.

    None for a folder, and offline.
    """
    if find_local_folder(model) is not None:
        return None
    cached = find_cached_revision(model)
    if cached:
        return cached
    from huggingface_hub import HfApi

    try:
        sha: str | None = HfApi().model_info(model, timeout=_HUB_TIMEOUT).sha
    except Exception:  # offline, no such model, no access, which `find_model_problem` says
        return None
    return sha
