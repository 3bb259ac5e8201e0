"""Contracts for the tests of plugins: subclass one, say how to make your stage, and pytest checks the rest.

    from convrag.testing import RewriterContract

    class TestGentleRewriter(RewriterContract):
        def make(self):
            return GentleRewriter(strength=2)

If your stage needs other stages, give it RecordedLLM, LetterEmbedder or TinyDataset. Wherever convrag is installed,
pytest has these fixtures: convrag_llm, convrag_store, convrag_corpus, convrag_conversation, convrag_dataset.

* `stage`: the contract of all stages.
* `searching`: contracts of rewriters, retrievers and rankers.
* `answering`: contracts of LLMs, contexts, generators, detectors and summarizers.
* `texts`: contracts of embedders and clusterers.
* `running`: contracts of data sets, metrics, trackers and tasks.
* `samples`: sample passages, questions and prompts, a sample data set and an LLM with recorded replies.
* `stage_variants`: a stage with one parameter changed.
* `network`: blocks network access and lists the attempts.
* `imports`: finds heavy libraries that a module imports.
"""

from convrag.testing.answering import (
    ContextContract,
    DetectorContract,
    GeneratorContract,
    LLMContract,
    SummarizerContract,
)
from convrag.testing.calls import CallContract
from convrag.testing.running import DatasetContract, MetricsContract, TaskContract, TrackerContract
from convrag.testing.samples import RecordedLLM, TinyDataset, conversation, make_prompt, passages, question
from convrag.testing.searching import RankerContract, RetrieverContract, RewriterContract
from convrag.testing.stage import StageContract
from convrag.testing.texts import ClustererContract, EmbedderContract, LetterEmbedder

__all__ = [
    "CallContract",
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
    "conversation",
    "make_prompt",
    "passages",
    "question",
]
