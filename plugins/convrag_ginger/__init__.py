"""GINGER: answers from information nuggets, and its baselines."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_ginger.baselines import BaselineGenerator, CotGenerator
from convrag_ginger.clusters import SizeRanker
from convrag_ginger.generator import GingerGenerator
from convrag_ginger.llm_detector import LlmDetector
from convrag_ginger.sentences_detector import SentencesDetector
from convrag_ginger.summarizer import LlmSummarizer
from convrag_ginger.task import DetectNuggetsTask

__all__ = [
    "BaselineGenerator",
    "CotGenerator",
    "DetectNuggetsTask",
    "GingerGenerator",
    "LlmDetector",
    "LlmSummarizer",
    "SentencesDetector",
    "SizeRanker",
]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("generator", "ginger", GingerGenerator)
    register("generator", "baseline", BaselineGenerator)
    register("generator", "cot", CotGenerator)
    register("detector", "llm", LlmDetector)
    register("detector", "sentences", SentencesDetector)
    register("summarizer", "llm", LlmSummarizer)
    register("ranker", "size", SizeRanker)
    register("task", "detect_nuggets", DetectNuggetsTask)
