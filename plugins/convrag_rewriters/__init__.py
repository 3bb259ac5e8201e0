"""Rewriters that belong to none of the five systems: baselines, query expansion, and papers.

* `auto`: the default: a language model's rewrite, or words of earlier turns.
* `baselines`: the question alone, or with earlier questions.
* `blend`, `weighted_history`, `utterances`: earlier utterances with small weights.
* `full_history`, `threshold`: a language model writes a question that stands alone.
* `multi_query`, `readings`: several queries for one question; RAG-Fusion.
* `dual_view`: a rewrite for words and one for vectors.
* `themes`: words of the conversation's themes.
* `resolve`, `model_references`: a model replaces references ("it") by what they name.
* `llm4cs`, `chiq`, `best_of_n`: rewriters of papers, under their published names.
* `reply_forms`, `parallel_requests`: what several of these share.
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
        "Search for the question and the questions of the last n exchanges as one query.",
    )
    register(
        "rewriter",
        "blend",
        "convrag_rewriters.blend:BlendRewriter",
        "Search for the question and, with small weights, for the last questions and answers.",
    )
    register(
        "rewriter",
        "weighted_history",
        "convrag_rewriters.weighted_history:WeightedHistoryRewriter",
        "Search for the history in one form by words, and in another by vectors.",
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
        "convrag_rewriters.threshold:ThresholdRewriter",
        "Ask the LLM for a stand-alone question, given the exchanges that are similar to it.",
    )
    register(
        "rewriter",
        "auto",
        "convrag_rewriters.auto:AutoRewriter",
        "Rewrite with the language model if there is one, else search for earlier turns as well.",
    )


def _register_queries(register: Register) -> None:
    """Register the rewriters that write several queries, or theme words."""
    register(
        "rewriter",
        "multi_query",
        _MULTI_QUERY,
        "Search for each reading of an ambiguous follow-up, weighted; or for aspects of a"
        " question.",
    )
    register(
        "rewriter",
        "rag_fusion",
        _MULTI_QUERY,
        "Search for each reading of an ambiguous follow-up, weighted; or for aspects of a"
        " question.",
        kind="aspects",
        n=5,
    )
    register(
        "rewriter",
        "themes",
        "convrag_rewriters.themes:ThemesRewriter",
        "Add words of the conversation's themes to the queries of any rewriter, with small weight.",
    )


def _register_published(register: Register) -> None:
    """Register the rewriters that a model does: references, and papers."""
    register(
        "rewriter",
        "resolve",
        "convrag_rewriters.resolve:ResolveRewriter",
        'Replace references by what they name: "How high is it?" asks for the Eiffel Tower.',
    )
    register(
        "rewriter",
        "llm4cs",
        _LLM4CS,
        "Search for the mean vector of sampled rewrites and invented answers (LLM4CS).",
    )
    register(
        "rewriter",
        "llm4cs_rewrites",
        _LLM4CS,
        "Search for the mean vector of sampled rewrites and invented answers (LLM4CS).",
        prompting="rewrite",
    )
    register(
        "rewriter",
        "hyde",
        _LLM4CS,
        "Search for the mean vector of sampled rewrites and invented answers (LLM4CS).",
        prompting="rewrite_then_response",
        n=8,
        max_tokens=512,
    )
    register(
        "rewriter",
        "chiq",
        "convrag_rewriters.chiq:CHIQRewriter",
        "Have a language model enhance the history in five ways, then rewrite the question (CHIQ).",
    )
    register(
        "rewriter",
        "dual_view",
        "convrag_rewriters.dual_view:DualViewRewriter",
        "Ask the LLM in one request for a rewrite for words and one for vectors (after DVCQR).",
    )
    register(
        "rewriter",
        "best_of_n",
        "convrag_rewriters.best_of_n:BestOfNRewriter",
        "Search for each of several rewrites, and keep the one that agrees best with the others.",
    )
