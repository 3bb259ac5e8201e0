"""Recorded results in place of a stage: what somebody else's rewriter or retriever came up with."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_replay.llm import ReplayLLM
from convrag_replay.rewriter import ReplayRewriter
from convrag_replay.run import RunRetriever

__all__ = ["ReplayLLM", "ReplayRewriter", "RunRetriever"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the stages that replay."""
    register("llm", "replay", ReplayLLM)
    register("rewriter", "replay", ReplayRewriter)
    register("retriever", "run", RunRetriever)
