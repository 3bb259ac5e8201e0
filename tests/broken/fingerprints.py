"""Stages whose fingerprint does not cover what they depend on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from broken.noting import breaks
from convrag import Answer, PromptTemplate
from sound import SoundGenerator, SoundRanker, SoundRewriter


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


@breaks("test_its_libraries_are_named")
class Importing(SoundGenerator):
    """Uses a library, and does not name it."""

    def generate(self, question: Any, evidence: Any) -> Answer:
        import numpy as np

        return replace(super().generate(question, evidence), trace={"mean": float(np.mean([1.0, 2.0]))})
