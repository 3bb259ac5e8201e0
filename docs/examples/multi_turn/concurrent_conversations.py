"""Several users at once: their conversations go on side by side in threads, and share nothing.

python docs/examples/multi_turn/concurrent_conversations.py
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from convrag_dedup import RAGPipeline

CORPUS = Path(__file__).with_name("corpus.jsonl")
QUESTIONS = {
    "user_1_session": (
        "Tell me about Python",
        "Is it used for machine learning?",
        "What is Python made for?",
    ),
    "user_2_session": (
        "Tell me about JavaScript",
        "Does it run in browsers?",
        "Where else does JavaScript run?",
    ),
    "user_3_session": (
        "What is deep learning?",
        "How many layers has it?",
        "Does deep learning overfit?",
    ),
}


def main() -> None:
    """Let each user ask three questions, all users at once, and print the statistics."""
    pipeline = RAGPipeline(corpus_path=CORPUS, top_k=2)

    def talk(conversation: str) -> None:
        for question in QUESTIONS[conversation]:
            pipeline.process_conversation_turn(conversation, question)

    with ThreadPoolExecutor() as pool:
        list(pool.map(talk, QUESTIONS))
    for conversation in QUESTIONS:
        stats = pipeline.get_conversation_stats(conversation)
        assert stats
        print(
            f"{conversation}: {stats['turn_count']} turns, {stats['deduplication_rate']:.0%} deduplicated"
        )
    all_stats = pipeline.get_conversation_stats()
    assert all_stats
    print(f"Total conversations: {all_stats['total_conversations']}")
    print(f"Average deduplication: {all_stats['average_deduplication_rate']:.1%}")


if __name__ == "__main__":
    main()
