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
    register("llm", "replay", "convrag_replay.llm:ReplayLLM")
    register("rewriter", "replay", "convrag_replay.rewriter:ReplayRewriter")
    register("retriever", "run", "convrag_replay.retriever:RunRetriever")
