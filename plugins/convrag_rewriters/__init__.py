"""Rewriters that are not one of the five systems: baselines, query expansion, and rewriters of
papers.

* `baselines`: rewriters without a model: none, all_questions, last_n, blend, weighted_history.
* `full_history`: full_history, threshold and auto, the default.
* `multi_query`, `themes`, `query_list`: several queries for one question; RAG-Fusion; theme words.
* `resolve`, `references`: a model replaces references ("it") by what they name.
* `llm4cs`, `chiq`, `best_of_n`, `samples`, `asking`: rewriters of papers, under their published
  names.
"""

from convrag import Register, hookimpl

_LLM4CS = "convrag_rewriters.llm4cs:LLM4CSRewriter"
_MULTI_QUERY = "convrag_rewriters.multi_query:MultiQueryRewriter"


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the rewriters."""
    _register_baselines(register)
    _register_queries(register)
    _register_published(register)


def _register_baselines(register: Register) -> None:
    """Register the rewriters without a model, and the default."""
    register(
        "rewriter",
        "none",
        "convrag_rewriters.baselines:NoRewriter",
        "Search for the question as it is (last turn).",
    )
    register(
        "rewriter",
        "all_questions",
        "convrag_rewriters.baselines:AllQuestionsRewriter",
        "Search for all questions of the conversation, concatenated into one query.",
    )
    register(
        "rewriter",
        "last_n",
        "convrag_rewriters.baselines:LastNRewriter",
        "Search for the question and the questions of the last n exchanges, concatenated "
        "into one query.",
    )
    register(
        "rewriter",
        "blend",
        "convrag_rewriters.baselines:BlendRewriter",
        "Search for the question and, with small weights, for the last questions and "
        "answers: no LLM is called.",
    )
    register(
        "rewriter",
        "weighted_history",
        "convrag_rewriters.baselines:WeightedHistoryRewriter",
        "Search by words and by vectors in different ways, since the history helps them "
        "in different forms.",
    )
    register(
        "rewriter",
        "full_history",
        "convrag_rewriters.full_history:FullHistoryRewriter",
        "Ask the LLM for a stand-alone question, with the whole conversation in the prompt.",
    )
    register(
        "rewriter",
        "threshold",
        "convrag_rewriters.full_history:ThresholdRewriter",
        "Ask the LLM for a stand-alone question, with the exchanges that are similar to "
        "the question in the prompt.",
    )
    register(
        "rewriter",
        "auto",
        "convrag_rewriters.full_history:AutoRewriter",
        "Rewrite with rewriter=full_history if the run's llm is a language model, else "
        "with four rules together.",
    )


def _register_queries(register: Register) -> None:
    """Register the rewriters that write several queries, or theme words."""
    register(
        "rewriter",
        "multi_query",
        _MULTI_QUERY,
        'Search for each reading of an ambiguous follow-up, by its weight: "Is it safe?" '
        'after "aspirin or ibuprofen?".',
    )
    register(
        "rewriter",
        "rag_fusion",
        _MULTI_QUERY,
        'Search for each reading of an ambiguous follow-up, by its weight: "Is it safe?" '
        'after "aspirin or ibuprofen?".',
        kind="aspects",
        n=5,
    )
    register(
        "rewriter",
        "themes",
        "convrag_rewriters.themes:ThemesRewriter",
        "Add words of the conversation's themes to the queries of any rewriter, as one "
        "query of small weight.",
    )


def _register_published(register: Register) -> None:
    """Register the rewriters that a model does: references, and papers."""
    register(
        "rewriter",
        "resolve",
        "convrag_rewriters.resolve:ResolveRewriter",
        'Write out what a question refers to: "How high is it?" becomes "How high is the '
        'Eiffel Tower?".',
    )
    register(
        "rewriter",
        "llm4cs",
        _LLM4CS,
        "Sample rewrites and invented answers from a language model, and search for the "
        "mean of their vectors (LLM4CS).",
    )
    register(
        "rewriter",
        "llm4cs_rewrites",
        _LLM4CS,
        "Sample rewrites and invented answers from a language model, and search for the "
        "mean of their vectors (LLM4CS).",
        prompting="rewrite",
    )
    register(
        "rewriter",
        "hyde",
        _LLM4CS,
        "Sample rewrites and invented answers from a language model, and search for the "
        "mean of their vectors (LLM4CS).",
        prompting="rewrite_then_response",
        n=8,
        max_tokens=512,
    )
    register(
        "rewriter",
        "chiq",
        "convrag_rewriters.chiq:CHIQRewriter",
        "Enhance the history in five ways by a language model, and rewrite the question "
        "from the enhanced one (CHIQ).",
    )
    register(
        "rewriter",
        "best_of_n",
        "convrag_rewriters.best_of_n:BestOfNRewriter",
        "Search for each of several rewrites, and keep the one whose first passages agree "
        "best with the others'.",
    )
