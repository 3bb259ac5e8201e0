"""Contracts for the tests of plugins: subclass one, say how to make your stage, and pytest checks the rest.

    from convrag.testing import RewriterContract

    class TestGentleRewriter(RewriterContract):
        def make(self):
            return GentleRewriter(strength=2)

If your stage needs other stages, give it RecordedLLM, LetterEmbedder or TinyDataset. Wherever convrag is installed,
pytest has these fixtures: convrag_llm, convrag_store, convrag_corpus, convrag_conversation, convrag_dataset.

* `stage`: the contract of all stages, and what a fingerprint must cover: variants with one parameter changed.
* `calls`: the contract of all stages that are called in a run: results, threads, arguments, processes, the store.
* `searching`: contracts of memories, rewriters, retrievers, rankers and selectors.
* `answering`: contracts of LLMs, contexts, generators, detectors and summarizers.
* `texts`: contracts of chunkers, embedders and clusterers.
* `running`: contracts of data sets, metrics, trackers and tasks.
* `samples`: sample passages, questions and prompts, a sample data set and an LLM with recorded replies.
* `values`: copies of values, and how two of them differ.
* `new_process`: answers of a stage in a new process.
* `libraries`: the libraries that a stage's code imports, those that take long, and the hosts that it tries to reach.
"""

import sys

if (_pytest := sys.modules.get("pytest")) is not None:  # a contract that fails then shows the values
    _contracts = "answering calls running searching stage texts"
    _pytest.register_assert_rewrite(*(f"{__name__}.{name}" for name in _contracts.split()))

from convrag.testing.answering import ContextContract as ContextContract
from convrag.testing.answering import DetectorContract as DetectorContract
from convrag.testing.answering import GeneratorContract as GeneratorContract
from convrag.testing.answering import LLMContract as LLMContract
from convrag.testing.answering import SummarizerContract as SummarizerContract
from convrag.testing.calls import CallContract as CallContract
from convrag.testing.running import DatasetContract as DatasetContract
from convrag.testing.running import MetricsContract as MetricsContract
from convrag.testing.running import TaskContract as TaskContract
from convrag.testing.running import TrackerContract as TrackerContract
from convrag.testing.samples import RecordedLLM as RecordedLLM
from convrag.testing.samples import TinyDataset as TinyDataset
from convrag.testing.samples import conversation as conversation
from convrag.testing.samples import make_prompt as make_prompt
from convrag.testing.samples import passages as passages
from convrag.testing.samples import question as question
from convrag.testing.searching import MemoryContract as MemoryContract
from convrag.testing.searching import RankerContract as RankerContract
from convrag.testing.searching import RetrieverContract as RetrieverContract
from convrag.testing.searching import RewriterContract as RewriterContract
from convrag.testing.searching import SelectorContract as SelectorContract
from convrag.testing.stage import StageContract as StageContract
from convrag.testing.texts import ChunkerContract as ChunkerContract
from convrag.testing.texts import ClustererContract as ClustererContract
from convrag.testing.texts import EmbedderContract as EmbedderContract
from convrag.testing.texts import LetterEmbedder as LetterEmbedder
