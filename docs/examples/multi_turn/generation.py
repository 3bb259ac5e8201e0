"""A conversation with answers: by the model at an address, or without one quoted from the
documents.

python docs/examples/multi_turn/generation.py
python docs/examples/multi_turn/generation.py http://localhost:30000 Qwen/Qwen2.5-7B-Instruct
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from convrag_dedup import InferenceConfig, RAGPipeline

CORPUS = Path(__file__).with_name("corpus.jsonl")
QUESTIONS = (
    "What are the best practices for machine learning?",
    "What should it be compared with?",
)


def main(arguments: Sequence[str] = ()) -> None:
    """Ask two questions; the second answer rests on a document that only a hint points at."""
    inference = None
    if arguments:
        address, model = arguments
        inference = InferenceConfig(
            model_name=model, backend="sglang", base_url=address, max_tokens=200
        )
    pipeline = RAGPipeline(corpus_path=CORPUS, inference=inference, top_k=2)
    for question in QUESTIONS:
        result = pipeline.process_conversation_turn("conv_1", question, generate_response=True)
        print(f"Question: {question}")
        print(f"Deduplicated: {result['deduplicated_docs']}")
        print(f"Response: {result['response']}")
        print(f"Generation time: {result['generation_metadata']['latency']:.2f}s")


if __name__ == "__main__":
    main(sys.argv[1:])
