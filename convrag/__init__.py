"""convrag: the plugin framework for conversational retrieval-augmented generation.

Import what you need from here: `from convrag import Rewriter, Query`. These names come from `convrag.api`, the
interfaces of plugins, and from the kernel. `convrag.sdk` has functions that many plugins need, and `convrag.testing`
the contracts for a plugin's tests. docs/architecture.md describes all rooms.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from convrag.api.deprecation import Deprecated as Deprecated
from convrag.api.documents import Document as Document
from convrag.api.errors import ConfigError as ConfigError
from convrag.api.errors import ConvragError as ConvragError
from convrag.api.errors import DataError as DataError
from convrag.api.errors import LLMError as LLMError
from convrag.api.errors import UnknownName as UnknownName
from convrag.api.hookspecs import Register as Register
from convrag.api.hookspecs import hookimpl as hookimpl
from convrag.api.records import Measurement as Measurement
from convrag.api.records import Report as Report
from convrag.api.records import Run as Run
from convrag.api.records import RunSummary as RunSummary
from convrag.api.records import TurnRecord as TurnRecord
from convrag.api.stage import LLM as LLM
from convrag.api.stage import Embedder as Embedder
from convrag.api.stages import Chunker as Chunker
from convrag.api.stages import Clusterer as Clusterer
from convrag.api.stages import Context as Context
from convrag.api.stages import Dataset as Dataset
from convrag.api.stages import Detector as Detector
from convrag.api.stages import Generator as Generator
from convrag.api.stages import Memory as Memory
from convrag.api.stages import Metrics as Metrics
from convrag.api.stages import Ranker as Ranker
from convrag.api.stages import Retriever as Retriever
from convrag.api.stages import Rewriter as Rewriter
from convrag.api.stages import Selector as Selector
from convrag.api.stages import Summarizer as Summarizer
from convrag.api.stages import Task as Task
from convrag.api.stages import Tracker as Tracker
from convrag.api.types import Answer as Answer
from convrag.api.types import Completion as Completion
from convrag.api.types import Conversation as Conversation
from convrag.api.types import Evidence as Evidence
from convrag.api.types import EvidenceItem as EvidenceItem
from convrag.api.types import Hit as Hit
from convrag.api.types import MemoryView as MemoryView
from convrag.api.types import Message as Message
from convrag.api.types import Nugget as Nugget
from convrag.api.types import Passage as Passage
from convrag.api.types import Prompt as Prompt
from convrag.api.types import Query as Query
from convrag.api.types import Question as Question
from convrag.api.types import Rewrite as Rewrite
from convrag.api.types import Selection as Selection
from convrag.api.types import Turn as Turn

if TYPE_CHECKING:
    from convrag.registry.parameters import operational as operational
    from convrag.registry.parameters import use as use
    from convrag.run.run_result import read_run as read_run
    from convrag.sdk.prompts import PromptTemplate as PromptTemplate
    from convrag.store.store import Store as Store
    from convrag.sweep.sweep_file import read_grid as read_grid
    from convrag.turn.conversations import Conversations as Conversations
    from convrag.turn.pipeline import Pipeline as Pipeline

__version__ = "0.2.0"

_LAZY = {
    "operational": "convrag.registry.parameters",
    "use": "convrag.registry.parameters",
    "PromptTemplate": "convrag.sdk.prompts",
    "Store": "convrag.store.store",
    "Pipeline": "convrag.turn.pipeline",
    "read_grid": "convrag.sweep.sweep_file",
    "read_run": "convrag.run.run_result",
    "Conversations": "convrag.turn.conversations",
}
"""Name -> module of names that are imported at their first use (PEP 562), since they import Hydra or SQLite."""

_TAKEN = {name for name, each in vars().items() if getattr(each, "__module__", "").startswith("convrag.")}
__all__ = sorted({*_TAKEN, "hookimpl", *_LAZY})


def __getattr__(name: str) -> Any:
    """Import a name of `_LAZY` at its first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(_LAZY[name]), name)
    return value


def __dir__() -> list[str]:
    """List the public names, for completion."""
    return sorted({*globals(), *__all__})
