"""The statistics of deduplication, beside those of the same conversation without it.

python docs/examples/multi_turn/stats.py
"""

from __future__ import annotations

from pathlib import Path

from convrag_dedup import RAGPipeline

CORPUS = Path(__file__).with_name("corpus.jsonl")
QUESTIONS = (
    "What is machine learning?",
    "How does it differ from deep learning?",
    "What is overfitting in machine learning?",
    "And how do the best practices hold it back?",
    "Do neural networks overfit?",
)


def main() -> None:
    """Ask the same questions with and without deduplication, and compare."""
    pipeline = RAGPipeline(corpus_path=CORPUS, top_k=5)
    for question in QUESTIONS:
        pipeline.process_conversation_turn("with", question)
        pipeline.process_conversation_turn("without", question, enable_deduplication=False)
    stats = pipeline.get_conversation_stats("with")
    baseline = pipeline.get_conversation_stats("without")
    assert stats
    assert baseline
    print(f"Conversation Statistics ({stats['turn_count']} turns):")
    print(f"- Total documents retrieved: {stats['total_retrieved']}")
    print(
        f"- Novel documents processed: {stats['total_novel']}, without deduplication {baseline['total_novel']}"
    )
    print(f"- Documents deduplicated: {stats['total_deduplicated']}")
    print(f"- Deduplication rate: {stats['deduplication_rate']:.0%}")
    print(f"- Tokens saved: {stats['tokens_saved']}")


if __name__ == "__main__":
    main()
