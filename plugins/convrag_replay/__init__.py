"""Stages that replay recorded results.

* `llm`: replies of a language model.
* `rewriter`: rewrites.
* `retriever`: rankings.
* `recorded_files`: reads files of rankings and rewrites.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the stages that replay."""
    register(
        "llm",
        "replay",
        "convrag_replay.llm:ReplayLLM",
        "Replay recorded replies (task=record): without a model, a key, a network or costs.",
    )
    register(
        "rewriter",
        "replay",
        "convrag_replay.rewriter:ReplayRewriter",
        "Replay recorded rewrites from a BEIR file or the data set, such as published ones.",
    )
    register(
        "retriever",
        "run",
        "convrag_replay.retriever:RunRetriever",
        "Replay recorded rankings from a TREC run or a JSONL file, as another system "
        "retrieved them.",
    )
