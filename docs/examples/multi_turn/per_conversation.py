"""Each conversation has a state of its own, which can be read, reset, and continued after a
restart.

python docs/examples/multi_turn/per_conversation.py
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from convrag_dedup import RAGPipeline

CORPUS = Path(__file__).with_name("corpus.jsonl")
QUESTION = "What is machine learning?"


def main() -> None:
    """Ask the same question in two conversations, after a restart, and after a reset."""
    with TemporaryDirectory() as folder:
        pipeline = RAGPipeline(corpus_path=CORPUS, top_k=3, folder=folder)
        _ask(pipeline, "conv_1", "first turn of conv_1")
        _ask(pipeline, "conv_1", "second turn of conv_1")
        _ask(pipeline, "conv_2", "first turn of conv_2")
        restarted = RAGPipeline(corpus_path=CORPUS, top_k=3, folder=folder)
        _ask(restarted, "conv_2", "second turn of conv_2, after a restart")
        restarted.reset_conversation("conv_1")
        print(f"conv_1 after its reset: {restarted.get_conversation_stats('conv_1')}")
        _ask(restarted, "conv_1", "first turn of the new conv_1")
        restarted.reset_all_conversations()
        everything = restarted.get_conversation_stats()
        assert everything
        print(f"Conversations after the reset of all: {everything['total_conversations']}")


def _ask(pipeline: RAGPipeline, conversation: str, when: str) -> None:
    result = pipeline.process_conversation_turn(conversation, QUESTION)
    print(
        f"{when}: {len(result['novel_docs'])} novel, {len(result['deduplicated_docs'])} deduplicated"
    )


if __name__ == "__main__":
    main()
