"""Contracts for the tests of plugins: subclass one, say how to make your stage, and pytest checks
the rest.

    from convrag.testing import RewriterContract

    class TestGentleRewriter(RewriterContract):
        def make(self):
            return GentleRewriter(strength=2)

If your stage needs other stages, give it RecordedLLM, LetterEmbedder or TinyDataset. Wherever
convrag is installed, pytest has these fixtures: convrag_llm, convrag_store, convrag_corpus,
convrag_conversation, convrag_dataset.

* `stage`: the contract of all stages, and what a fingerprint must cover: variants with one
  parameter changed.
* `calls`: the contract of all stages that are called in a run: results, threads, arguments,
  processes, the store.
* `searching`: contracts of memories, rewriters, searches, retrievers, rankers and selectors.
* `answering`: contracts of LLMs, contexts, generators, detectors and summarizers.
* `texts`: contracts of chunkers, embedders and clusterers.
* `running`: contracts of data sets, metrics, trackers and tasks.
* `samples`: sample passages, questions and prompts, a sample data set and an LLM with recorded
  replies.
* `values`: copies of values, and how two of them differ.
* `new_process`: answers of a stage in a new process.
* `libraries`: the libraries that a stage's code imports, those that take long, and the hosts that
  it tries to reach.
"""

import sys

if (
    _pytest := sys.modules.get("pytest")
) is not None:  # a contract that fails then shows the values
    _contracts = "answering calls running searching stage texts"
    _pytest.register_assert_rewrite(*(f"{__name__}.{name}" for name in _contracts.split()))

from convrag.testing.answering import (
    ContextContract as ContextContract,
    DetectorContract as DetectorContract,
    GeneratorContract as GeneratorContract,
    LLMContract as LLMContract,
    SummarizerContract as SummarizerContract,
)
from convrag.testing.calls import CallContract as CallContract
from convrag.testing.running import (
    DatasetContract as DatasetContract,
    MetricsContract as MetricsContract,
    TaskContract as TaskContract,
    TrackerContract as TrackerContract,
)
from convrag.testing.samples import (
    RecordedLLM as RecordedLLM,
    TinyDataset as TinyDataset,
    conversation as conversation,
    make_prompt as make_prompt,
    passages as passages,
    question as question,
)
from convrag.testing.searching import (
    MemoryContract as MemoryContract,
    RankerContract as RankerContract,
    RetrieverContract as RetrieverContract,
    RewriterContract as RewriterContract,
    SearchContract as SearchContract,
    SelectorContract as SelectorContract,
)
from convrag.testing.stage import StageContract as StageContract
from convrag.testing.texts import (
    ChunkerContract as ChunkerContract,
    ClustererContract as ClustererContract,
    EmbedderContract as EmbedderContract,
    LetterEmbedder as LetterEmbedder,
)
