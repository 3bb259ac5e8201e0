"""convrag: the plugin framework for conversational retrieval-augmented generation.

Here are the names that users and plugin authors need. The modules say more: `convrag.api.stages` is what there is to
implement, `convrag.api.types` what flows between stages, `convrag.api.hookspecs` what plugins may hook into.
"""

import os as _os

# Read by litellm and MLflow when they are imported, which other libraries do on their own: no look-ups, no telemetry.
_os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
_os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
_os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

from convrag.api.errors import ConvragError, DataError, LLMError, MissingExtra
from convrag.api.hookspecs import Register, hookimpl
from convrag.api.stages import (
    LLM,
    Clusterer,
    Context,
    Dataset,
    Detector,
    Embedder,
    Generator,
    Metrics,
    Ranker,
    Retriever,
    Rewriter,
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
    Message,
    Nugget,
    Passage,
    Prompt,
    Query,
    Question,
    Rewrite,
    Run,
    RunSummary,
    Turn,
    TurnRecord,
    Usage,
)
from convrag.registry.options import operational, use
from convrag.sdk.prompts import PromptTemplate
from convrag.store.store import Store
from convrag.turn.pipeline import Pipeline
from convrag.turn.session import Conversations

__version__ = "0.1.0"

__all__ = [
    "LLM",
    "Answer",
    "Clusterer",
    "Completion",
    "Context",
    "Conversation",
    "Conversations",
    "ConvragError",
    "DataError",
    "Dataset",
    "Detector",
    "Embedder",
    "Evidence",
    "EvidenceItem",
    "Generator",
    "Hit",
    "LLMError",
    "Message",
    "Metrics",
    "MissingExtra",
    "Nugget",
    "Passage",
    "Pipeline",
    "Prompt",
    "PromptTemplate",
    "Query",
    "Question",
    "Ranker",
    "Register",
    "Retriever",
    "Rewrite",
    "Rewriter",
    "Run",
    "RunSummary",
    "Store",
    "Summarizer",
    "Task",
    "Tracker",
    "Turn",
    "TurnRecord",
    "Usage",
    "hookimpl",
    "operational",
    "use",
]
