"""GINGER: answers from information nuggets, and its baselines."""

from __future__ import annotations

from convrag import Register, Report, hookimpl
from convrag.sdk.types import Sweep


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("generator", "ginger", "convrag_ginger.generator:GingerGenerator")
    register("generator", "baseline", "convrag_ginger.baselines:BaselineGenerator")
    register("generator", "cot", "convrag_ginger.baselines:CotGenerator")
    register("detector", "auto", "convrag_ginger.auto_detector:AutoDetector")
    register("detector", "llm", "convrag_ginger.llm_detector:LlmDetector")
    register("detector", "sentences", "convrag_ginger.sentences_detector:SentencesDetector")
    register("summarizer", "llm", "convrag_ginger.summarizer:LlmSummarizer")
    register("ranker", "size", "convrag_ginger.clusters:SizeRanker")
    register("task", "compare_answers", "convrag_ginger.compare_answers:CompareAnswersTask")
    register("task", "detect_nuggets", "convrag_ginger.task:DetectNuggetsTask")


@hookimpl
def convrag_sweep_report(sweep: Sweep) -> Report | None:
    """List the words of the topics of a grid's runs, where a clusterer describes them."""
    from convrag_ginger.report import report_topics

    return report_topics(sweep)
