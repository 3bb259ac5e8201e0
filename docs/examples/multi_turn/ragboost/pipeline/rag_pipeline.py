"""`from ragboost.pipeline.rag_pipeline import ...`."""

from convrag_dedup import InferenceConfig, RAGPipeline

__all__ = ["InferenceConfig", "RAGPipeline"]
