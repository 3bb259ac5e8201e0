"""Contracts for the tests of plugins: subclass one, make your stage, and pytest checks the rest.

    from convrag.testing import RewriterContract

    class TestGentleRewriter(RewriterContract):
        def make(self):
            return GentleRewriter(strength=2)

If your stage needs other stages, give it RecordedLLM, LetterEmbedder or TinyDataset. Wherever
convrag is installed, pytest has these fixtures: convrag_llm, convrag_store, convrag_corpus,
convrag_conversation, convrag_dataset.

* `stage_contract`: the contract of all stages.
* `stage_variants`: variants of a stage with one parameter changed, and their fingerprints.
* `call_contract`: the contract of all stages that are called in a run: results, threads,
  arguments, processes, the store.
* `search_contracts`: contracts of memories, rewriters, searches, retrievers, rankers and selectors.
* `answer_contracts`: contracts of LLMs, contexts, generators, detectors and summarizers.
* `text_contracts`: contracts of chunkers, embedders and clusterers.
* `run_contracts`: contracts of data sets, metrics, trackers and tasks.
* `samples`: sample passages, questions, records and prompts, a sample data set, recorded replies.
* `values`: copies of values, and how two of them differ.
* `threads`: calls from several threads at once, which pause between lines.
* `new_process`: answers of a stage in a new process.
* `libraries`: the libraries that a stage's code imports, those that take long to import, and the
  hosts that it tries to reach.
"""

import sys

if "pytest" in sys.modules:  # a contract that fails then shows the values
    sys.modules["pytest"].register_assert_rewrite(
        f"{__name__}.answer_contracts",
        f"{__name__}.call_contract",
        f"{__name__}.run_contracts",
        f"{__name__}.search_contracts",
        f"{__name__}.stage_contract",
        f"{__name__}.text_contracts",
    )

from convrag.testing.answer_contracts import (
    ContextContract as ContextContract,
    DetectorContract as DetectorContract,
    GeneratorContract as GeneratorContract,
    LLMContract as LLMContract,
    SummarizerContract as SummarizerContract,
)
from convrag.testing.call_contract import CallContract as CallContract
from convrag.testing.run_contracts import (
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
from convrag.testing.search_contracts import (
    MemoryContract as MemoryContract,
    RankerContract as RankerContract,
    RetrieverContract as RetrieverContract,
    RewriterContract as RewriterContract,
    SearchContract as SearchContract,
    SelectorContract as SelectorContract,
)
from convrag.testing.stage_contract import StageContract as StageContract
from convrag.testing.text_contracts import (
    ChunkerContract as ChunkerContract,
    ClustererContract as ClustererContract,
    EmbedderContract as EmbedderContract,
    LetterEmbedder as LetterEmbedder,
)
