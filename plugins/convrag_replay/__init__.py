"""Stages that replay recorded results: rewrites, rankings, and replies of an LLM."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the stages that replay."""
    register(
        "llm",
        "replay",
        "convrag_replay.llm:ReplayLLM",
        "Recorded replies (task=record): run again without a model, a key or a network, "
        "and without paying.",
    )
    register(
        "rewriter",
        "replay",
        "convrag_replay.rewriter:ReplayRewriter",
        "Recorded rewrites from a BEIR file or from the data set: compare with what "
        "others published, without paying.",
    )
    register(
        "retriever",
        "run",
        "convrag_replay.retriever:RunRetriever",
        "Recorded rankings from a TREC run or JSONL file: generate from, or score, what "
        "another system retrieved.",
    )
