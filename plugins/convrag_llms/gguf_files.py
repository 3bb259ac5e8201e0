"""GGUF files of language models: a path, or a file of a repository on the Hugging Face hub."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from convrag import ConfigError, ConvragError
from convrag.sdk.model_files import find_cached_revision

_MAGIC = b"GGUF"
"""The first bytes of a GGUF file."""

_HUB_TIMEOUT = 10
"""Seconds for a request to the hub."""

_BLOCKS = 64
"""The blocks of a file that are hashed."""

_BLOCK_BYTES = 65_536


@dataclass(frozen=True)
class GgufFile:
    """The file of a model: a path, or a repository on the hub and a file in it.

    Args:
        path: of a file on this machine.
        repo: name of a repository on the hub ("org/name").
        file: the file's name in the repository.

    Raises:
        ConfigError: both are given, or neither, or a repository without a file.
    """

    path: Path | None
    repo: str | None
    file: str | None

    def __post_init__(self) -> None:
        on_hub = self.repo is not None or self.file is not None
        if self.path is not None and on_hub:
            raise ConfigError("llm=llama_cpp: give llm.model, or llm.repo and llm.file, not both")
        if self.path is None and not on_hub:
            raise ConfigError(
                "llm=llama_cpp: which model? Give a GGUF file, llm.model=path/to/model.gguf, or "
                "one on the Hugging Face hub: llm.repo=org/name-GGUF llm.file=name-Q4_K_M.gguf"
            )
        if on_hub and not (self.repo and self.file):
            raise ConfigError(
                "llm=llama_cpp: llm.repo and llm.file belong together "
                "(llm.repo=org/name-GGUF llm.file=name-Q4_K_M.gguf)"
            )

    @property
    def name(self) -> str:
        """The name of the model, as records have it: the file's, without its suffix."""
        name = self.file if self.path is None else self.path.name
        return Path(str(name)).stem

    def find_problem(self) -> str:
        """Say why the file cannot be loaded, and what to do; empty where it can.

        The hub is asked for a file that is not in its local cache.
        """
        path = self.path or self._find_cached()
        if path is not None:
            return _find_file_problem(path)
        return self._find_hub_problem()

    def find(self) -> Path:
        """Find the file, and download it where it is on the hub. Raises ConvragError."""
        if self.path is None:
            return self._download()
        problem = _find_file_problem(self.path)
        if problem:
            raise ConvragError(problem)
        return self.path

    def identify(self) -> str:
        """Hash parts of the file, or name its commit on the hub.

        Of a file, 64 blocks count: files have many gigabytes, and two models that differ do so in
        every block.
        """
        if self.path is not None:
            return _hash_blocks(self.path)
        revision = find_cached_revision(str(self.repo))
        return f"{self.repo}/{self.file}@{revision}"

    def _find_cached(self) -> Path | None:
        """Find the file in the hub's local cache."""
        try:
            from huggingface_hub import try_to_load_from_cache
        except ImportError:
            return None
        found = try_to_load_from_cache(str(self.repo), str(self.file))
        return Path(found) if isinstance(found, str) else None

    def _find_hub_problem(self) -> str:
        """Ask the hub whether it has the file."""
        try:
            from huggingface_hub import HfApi
        except ImportError:
            return "llm.repo needs huggingface_hub: pip install 'convrag[llama-cpp]'"
        try:
            info = HfApi().model_info(str(self.repo), timeout=_HUB_TIMEOUT)
        except Exception as error:  # offline, no such repository, no access
            reason = str(error).partition("\n")[0]
            return (
                f"the model {self.repo!r} is not in the local cache, and cannot be downloaded "
                f"({reason}): give a file of this machine, llm.model=path/to/model.gguf"
            )
        names = sorted(each.rfilename for each in info.siblings or ())
        files = [name for name in names if name.endswith(".gguf")]
        if self.file in files:
            return ""
        choices = ", ".join(files) or "none"
        return f"{self.repo} has no file {self.file!r}; its GGUF files: {choices} (llm.file=...)"

    def _download(self) -> Path:
        """Download the file, once. Raises ConvragError."""
        cached = self._find_cached()
        if cached is not None:
            return cached
        problem = self._find_hub_problem()
        if problem:
            raise ConvragError(problem)
        from huggingface_hub import hf_hub_download

        try:
            return Path(hf_hub_download(str(self.repo), str(self.file)))
        except Exception as error:  # a full disk, a broken connection
            raise ConvragError(f"{self.repo}/{self.file} cannot be downloaded: {error}") from error


def _find_file_problem(path: Path) -> str:
    if path.is_dir():
        found = sorted(each.name for each in path.glob("*.gguf"))
        choices = f": one of {', '.join(found)}" if found else ""
        return f"{path} is a folder: name the GGUF file in it{choices}"
    try:
        with path.open("rb") as file:
            beginning = file.read(len(_MAGIC))
    except OSError as error:
        return f"the model {path} cannot be read ({error.strerror}): llm.model takes a GGUF file"
    if beginning == _MAGIC:
        return ""
    return (
        f"{path} is not a GGUF file: take the model's GGUF version from the hub "
        "(many have names that end in -GGUF), or convert it with llama.cpp"
    )


def _hash_blocks(path: Path) -> str:
    """Hash the size of a file, and blocks that are spread over it; empty for a missing file."""
    if not path.is_file():
        return ""
    size = path.stat().st_size
    digest = blake2b(str(size).encode(), digest_size=16)
    with path.open("rb") as file:
        for block in range(_BLOCKS):
            file.seek(block * max(0, size - _BLOCK_BYTES) // (_BLOCKS - 1))
            digest.update(file.read(_BLOCK_BYTES))
    return digest.hexdigest()
