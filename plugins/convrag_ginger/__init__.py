"""GINGER: answers from information nuggets.

Nuggets:

* `llm_detector`: `detector=llm`: a model tags the nuggets in its copy of the passage.
* `sentences_detector`: `detector=sentences` and `detector=auto`: sentences that match the query.
* `detection`: detects the nuggets of a passage, by sentences where a model ignores the format.
* `detect_nuggets_task`: `task=detect_nuggets`: the nuggets of given passages.
* `replay_detector`: `detector=replay`: nuggets that were detected before.
* `nugget_files`: files of queries with passages, and of detected nuggets.
* `alignment`: finds copied texts in the text that they were copied from.
* `clusters`: clusters of nuggets, made by a clusterer and ranked; `ranker=size`.

Answers:

* `generator`: `generator=ginger`: detect, merge, cluster, rank, summarise.
* `summarizer`: `summarizer=llm`: one sentence for each cluster.
* `cluster_sentences`: a supported sentence for each of the best clusters, and its rewording.
* `attribution`: attributes sentences to nuggets and passages, and checks their support.
* `length_limit`: the length limit of an answer, in words.
* `outcome_report`: the report of the generator.
* `baselines`: `generator=baseline` and `generator=cot`: one prompt, plain or with reasoning.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register(
        "generator",
        "ginger",
        "convrag_ginger.generator:GingerGenerator",
        "Answer from information nuggets: detect, cluster, rank, and summarise each best cluster.",
    )
    register(
        "generator",
        "baseline",
        "convrag_ginger.baselines:BaselineGenerator",
        "Answer the rewritten question from the top passages with one prompt, within a length "
        "limit.",
    )
    register(
        "generator",
        "cot",
        "convrag_ginger.baselines:CotGenerator",
        "Answer as generator=baseline does, after reasoning in four steps (chain of thought).",
    )
    register(
        "detector",
        "auto",
        "convrag_ginger.sentences_detector:AutoDetector",
        "Detect nuggets with detector=llm if the llm is a language model, else detector=sentences.",
    )
    register(
        "detector",
        "llm",
        "convrag_ginger.llm_detector:LlmDetector",
        "Ask the LLM to copy the passage with tags around the parts that answer the query "
        "(GINGER).",
    )
    register(
        "detector",
        "sentences",
        "convrag_ginger.sentences_detector:SentencesDetector",
        "Take the sentences that match the query best: no LLM, no model, no cost.",
    )
    register(
        "detector",
        "replay",
        "convrag_ginger.replay_detector:ReplayDetector",
        "Replay the nuggets of a file that task=detect_nuggets has written.",
    )
    register(
        "task",
        "detect_nuggets",
        "convrag_ginger.detect_nuggets_task:DetectNuggetsTask",
        "Detect the nuggets of given passages, and write them for GINGER and metrics=nuggets.",
    )
    register(
        "summarizer",
        "llm",
        "convrag_ginger.summarizer:LlmSummarizer",
        "Ask the LLM to say in one sentence what the nuggets contribute to the answer (GINGER).",
    )
    register(
        "ranker",
        "size",
        "convrag_ginger.clusters:SizeRanker",
        "Rank clusters by the number of their nuggets, whatever the query: a baseline.",
    )
