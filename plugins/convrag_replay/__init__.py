"""Stages that replay recorded results: rewrites, rankings, and replies of an LLM."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_replay.llm import ReplayLLM
from convrag_replay.retriever import RunRetriever
from convrag_replay.rewriter import ReplayRewriter

__all__ = ["ReplayLLM", "ReplayRewriter", "RunRetriever"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the stages that replay."""
    register("llm", "replay", ReplayLLM)
    register("rewriter", "replay", ReplayRewriter)
    register("retriever", "run", RunRetriever)
