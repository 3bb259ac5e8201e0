"""Stages whose fingerprint does not cover what they depend on."""

from pathlib import Path

from broken.noting import breaks
from convrag import PromptTemplate
from sound import SoundRanker, SoundRewriter


@breaks("test_its_fingerprint_follows_its_files")
class Reading(SoundRanker):
    """Reads a file, and takes its name for its contents.

    Args:
        words: a file of words that count.
    """

    def __init__(self, *, words: str = __file__) -> None:
        self.words = words


@breaks("test_its_fingerprint_follows_its_files")
class Constant(SoundRanker):
    """Says that it reads the same at all times.

    Args:
        words: a file of words that count.
    """

    def __init__(self, *, words: Path = Path(__file__)) -> None:
        self.words = words

    def content_hash(self) -> str:
        return "1"


@breaks("test_its_fingerprint_follows_its_server")
class Addressed(SoundRanker):
    """Asks the server that a variable names."""

    env_vars = ("ACME_URL",)


@breaks("test_its_fingerprint_follows_its_prompts")
class Prompting(SoundRewriter):
    """Does not name its prompt."""

    def __init__(self) -> None:
        self.prompt = PromptTemplate("rewrite", package="convrag_condense")
