"""convrag: the plugin framework for conversational retrieval-augmented generation.

Import what you need from here: `from convrag import Rewriter, Query`. These names come from `convrag.api`, the
interfaces of plugins, and from the kernel. `convrag.sdk` has functions that many plugins need, and `convrag.testing`
the contracts for a plugin's tests. docs/architecture.md describes all rooms.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from convrag.api.deprecation import Deprecated
from convrag.api.documents import Document
from convrag.api.errors import (
    ConfigError,
    ConvragError,
    DataError,
    LLMError,
    UnknownName,
)
from convrag.api.hookspecs import Register, hookimpl
from convrag.api.records import Measurement, Report, Run, RunSummary, TurnRecord
from convrag.api.stage import LLM, Embedder
from convrag.api.stages import (
    Chunker,
    Clusterer,
    Context,
    Dataset,
    Detector,
    Generator,
    Memory,
    Metrics,
    Ranker,
    Retriever,
    Rewriter,
    Selector,
    Summarizer,
    Task,
    Tracker,
)
from convrag.api.types import (
    Answer,
    Completion,
    Conversation,
    Evidence,
    EvidenceItem,
    Hit,
    MemoryView,
    Message,
    Nugget,
    Passage,
    Prompt,
    Query,
    Question,
    Rewrite,
    Selection,
    Turn,
)

if TYPE_CHECKING:
    from convrag.registry.parameters import operational, use
    from convrag.run.run_result import read_run
    from convrag.sdk.prompts import PromptTemplate
    from convrag.store.store import Store
    from convrag.sweep.sweep_file import read_grid
    from convrag.turn.conversations import Conversations
    from convrag.turn.pipeline import Pipeline

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

__all__ = [
    "LLM",
    "Answer",
    "Chunker",
    "Clusterer",
    "Completion",
    "ConfigError",
    "Context",
    "Conversation",
    "Conversations",
    "ConvragError",
    "DataError",
    "Dataset",
    "Deprecated",
    "Detector",
    "Document",
    "Embedder",
    "Evidence",
    "EvidenceItem",
    "Generator",
    "Hit",
    "LLMError",
    "Measurement",
    "Memory",
    "MemoryView",
    "Message",
    "Metrics",
    "Nugget",
    "Passage",
    "Pipeline",
    "Prompt",
    "PromptTemplate",
    "Query",
    "Question",
    "Ranker",
    "Register",
    "Report",
    "Retriever",
    "Rewrite",
    "Rewriter",
    "Run",
    "RunSummary",
    "Selection",
    "Selector",
    "Store",
    "Summarizer",
    "Task",
    "Tracker",
    "Turn",
    "TurnRecord",
    "UnknownName",
    "hookimpl",
    "operational",
    "read_grid",
    "read_run",
    "use",
]


def __getattr__(name: str) -> Any:
    """Import a name of `_LAZY` at its first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(_LAZY[name]), name)
    return value


def __dir__() -> list[str]:
    """List the public names, for completion."""
    return sorted({*globals(), *__all__})
