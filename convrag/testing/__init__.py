"""Contracts for plugin authors: subclass one in your tests, say how to make your stage, and pytest checks the rest.

from convrag.testing import RewriterContract

class TestGentleRewriter(RewriterContract):
    def make(self):
        return GentleRewriter(strength=2)

The stages here stand in for what a stage needs: RecordedLLM, LetterEmbedder, TinyDataset. pytest has them as fixtures
wherever convrag is installed: convrag_llm, convrag_store, convrag_corpus, convrag_conversation, convrag_dataset.
"""

from convrag.testing.answering import (
    ContextContract,
    DetectorContract,
    GeneratorContract,
    LLMContract,
    SummarizerContract,
)
from convrag.testing.running import DatasetContract, MetricsContract, TaskContract, TrackerContract
from convrag.testing.samples import RecordedLLM, TinyDataset, ask, conversation, passages, question
from convrag.testing.searching import RankerContract, RetrieverContract, RewriterContract
from convrag.testing.stage import StageContract
from convrag.testing.texts import ClustererContract, EmbedderContract, LetterEmbedder

__all__ = [
    "ClustererContract",
    "ContextContract",
    "DatasetContract",
    "DetectorContract",
    "EmbedderContract",
    "GeneratorContract",
    "LLMContract",
    "LetterEmbedder",
    "MetricsContract",
    "RankerContract",
    "RecordedLLM",
    "RetrieverContract",
    "RewriterContract",
    "StageContract",
    "SummarizerContract",
    "TaskContract",
    "TinyDataset",
    "TrackerContract",
    "ask",
    "conversation",
    "passages",
    "question",
]
