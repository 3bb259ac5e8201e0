"""A conversation in which documents that it has shown become hints.

python docs/examples/multi_turn/basic.py
"""

from __future__ import annotations

from pathlib import Path

from convrag_dedup import RAGPipeline

CORPUS = Path(__file__).with_name("corpus.jsonl")
QUESTIONS = (
    "What is machine learning?",
    "How does it differ from deep learning?",
    "What are the best practices for machine learning?",
)


def main() -> None:
    """Ask three questions, and print what the model would be shown for each."""
    pipeline = RAGPipeline(retriever="bm25", corpus_path=CORPUS, use_ragboost=True)
    for number, question in enumerate(QUESTIONS, start=1):
        result = pipeline.process_conversation_turn("user_session_123", question, top_k=3)
        stats = result["deduplication_stats"]
        print(f"Turn {number}: {question}")
        print(f"Deduplicated: {stats['num_deduplicated']} of {stats['num_retrieved']} docs")
        print(result["context"])


if __name__ == "__main__":
    main()
