"""GINGER: answers from information nuggets."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("generator", "ginger", "convrag_ginger.generator:GingerGenerator")
    register("detector", "auto", "convrag_ginger.sentences_detector:AutoDetector")
    register("detector", "llm", "convrag_ginger.llm_detector:LlmDetector")
    register("detector", "sentences", "convrag_ginger.sentences_detector:SentencesDetector")
    register("summarizer", "llm", "convrag_ginger.summarizer:LlmSummarizer")
    register("ranker", "size", "convrag_ginger.clusters:SizeRanker")
