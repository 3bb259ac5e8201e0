"""Answers assessed by language models or from files of judgements: nuggets, ratings by a rubric,
and agreement.

Nuggets:

* `nuggets`: `metrics=nuggets`.
* `nugget_assessor`: a language model that creates, labels and assigns nuggets.
* `nugget_labels`: nuggets, and labels of importance and support, in any spelling.
* `nugget_scores`: the nugget scores of TREC RAG and GINGER.
* `nugget_judgements`: the labels of each assessor, and the scores from them.
* `nugget_report`, `nugget_files`: the report of nuggets, and files of nuggets and labels.
* `score_nuggets_task`: `task=score_nuggets`: scores from files of labels.

Ratings:

* `judge`: `metrics=judge` and its variants: answers rated by models, by the criteria of a rubric.
* `rubric`: reads a rubric from YAML: criteria and scale (rubric.yaml, answer_relevancy.yaml, ...).
* `rating_report`, `rating_files`: the report of ratings, and files of ratings.

Agreement:

* `agreement_task`: `task=agreement`: how well scores in files agree with people's.
* `agreement`: the agreement between judges and people, by criterion.
* `correlation`: Spearman's and Kendall's rank correlations.
* `krippendorff`: Krippendorff's alpha.

Shared by several:

* `judgement_lines`: lines of files of judgements.
* `reply_forms`: the forms of models' replies.
* `turn_ids`: ids of turns in MTRAG's form.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from convrag import Register, hookimpl

if TYPE_CHECKING:
    from convrag_judging.nugget_scores import scores

_LAZY = {"scores": "nugget_scores"}

__all__ = ["scores"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register(
        "metrics",
        "nuggets",
        "convrag_judging.nuggets:NuggetMetrics",
        "Nugget scores as TREC RAG and GINGER define them, V_strict first.",
    )
    register(
        "metrics",
        "judge",
        "convrag_judging.judge:JudgeMetrics",
        "Faithfulness, appropriateness and completeness of answers, judged by language models.",
    )
    for name in (
        "answer_relevancy",
        "context_precision",
        "context_recall",
    ):  # as other tools call them
        register(
            "metrics",
            name,
            "convrag_judging.judge:JudgeMetrics",
            "Faithfulness, appropriateness and completeness of answers, judged by language models.",
            rubric=name,
        )
    register(
        "task",
        "agreement",
        "convrag_judging.agreement_task:AgreementTask",
        "Compare scores of answers with scores by people: correlations and Krippendorff's alpha.",
    )
    register(
        "task",
        "score_nuggets",
        "convrag_judging.score_nuggets_task:ScoreNuggetsTask",
        "Compute nugget scores from files of importance and assignment labels, such as "
        "published ones.",
    )


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
