"""convrag: the plugin framework for conversational retrieval-augmented generation.

Import what you need from here: `from convrag import Rewriter, Query`. These names come from
`convrag.api`, the interfaces of plugins, and from the kernel. `convrag.sdk` has functions that many
plugins need, and `convrag.testing` the contracts for a plugin's tests. docs/architecture.md
describes all rooms.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from convrag.api.answers import Answer as Answer
from convrag.api.completions import Completion as Completion, Message as Message, Prompt as Prompt
from convrag.api.conversations import (
    Conversation as Conversation,
    MemoryView as MemoryView,
    Question as Question,
    Turn as Turn,
)
from convrag.api.documents import Document as Document
from convrag.api.errors import (
    ConfigError as ConfigError,
    ConvragError as ConvragError,
    DataError as DataError,
    LLMError as LLMError,
    UnknownName as UnknownName,
)
from convrag.api.evidence import Evidence as Evidence, EvidenceItem as EvidenceItem
from convrag.api.hookspecs import Register as Register, hookimpl as hookimpl
from convrag.api.passages import (
    Candidates as Candidates,
    Hit as Hit,
    Nugget as Nugget,
    Passage as Passage,
    Ranking as Ranking,
    Selection as Selection,
)
from convrag.api.queries import Query as Query, Rewrite as Rewrite, SearchStep as SearchStep
from convrag.api.records import (
    Measurement as Measurement,
    Report as Report,
    Run as Run,
    RunSummary as RunSummary,
    TurnRecord as TurnRecord,
)
from convrag.api.stage import LLM as LLM, Embedder as Embedder
from convrag.api.stages import (
    Chunker as Chunker,
    Clusterer as Clusterer,
    Context as Context,
    Dataset as Dataset,
    Detector as Detector,
    Generator as Generator,
    Memory as Memory,
    Metrics as Metrics,
    Ranker as Ranker,
    Retriever as Retriever,
    Rewriter as Rewriter,
    Search as Search,
    Selector as Selector,
    Summarizer as Summarizer,
    Task as Task,
    Tracker as Tracker,
)

if TYPE_CHECKING:
    from convrag.registry.parameters import operational as operational, use as use
    from convrag.run.run_result import read_run as read_run
    from convrag.sdk.llm.prompts import PromptTemplate as PromptTemplate
    from convrag.store.store import Store as Store
    from convrag.sweep.grid_result import read_grid as read_grid
    from convrag.turn.conversations import Conversations as Conversations
    from convrag.turn.pipeline import Pipeline as Pipeline

__version__ = "0.2.0"

_LAZY = {
    "operational": "convrag.registry.parameters",
    "use": "convrag.registry.parameters",
    "PromptTemplate": "convrag.sdk.llm.prompts",
    "Store": "convrag.store.store",
    "Pipeline": "convrag.turn.pipeline",
    "read_grid": "convrag.sweep.grid_result",
    "read_run": "convrag.run.run_result",
    "Conversations": "convrag.turn.conversations",
}
"""Name -> its module, which is imported at the first use of the name (PEP 562).

These modules import Hydra or SQLite.
"""

_IMPORTED = {
    name for name, each in vars().items() if getattr(each, "__module__", "").startswith("convrag.")
}
__all__ = sorted({*_IMPORTED, "hookimpl", *_LAZY})


def __getattr__(name: str) -> Any:
    """Import a name of `_LAZY` at its first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, for completion."""
    return sorted({*globals(), *__all__})
