"""Several rewriters together (`rewriter=ensemble`), and five kinds of queries by an LLM."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from convrag import LLM, ConfigError, PromptTemplate, Question, Rewrite, Rewriter, use
from convrag.sdk.errors import RunStopped
from convrag.sdk.llm.rewriter import LLMRewriter, format_exchanges
from convrag.sdk.llm.sampling import MaxTokens, Temperature
from convrag.sdk.parallel import map_parallel

_PLACES = ("first", "second", "third", "fourth", "fifth")


class EnsembleRewriter(Rewriter):
    """Give the weighted queries of up to five rewriters, which fail in different ways.

    `rewriter.first=condense rewriter.second=mmr rewriter.third=null` chooses two;
    `rewriter.second.lambda_=.5` sets a parameter of one. All of them rewrite at once, and each
    query keeps its own weight, multiplied by its rewriter's. What becomes of them is up to the
    retriever: bm25 and dense add them up; `retriever=fused` searches for the queries of each
    rewriter by themselves and fuses the rankings. The first query, by which passages are reranked
    and the question is answered, is the first rewriter's.

    A rewriter that fails gives the question itself as it stands; the trace has the queries, the
    trace and the failure of each, under "first", "second" and so on.

    Args:
        first: its first query is the rewritten question. By default one that asks the llm.
        second: by default one that works by rules, as the third.
        third: null leaves it out.
        fourth: none by default.
        fifth: none by default.
        weights: of the rewriters in their order, `rewriter.weights=[1,1,.5]`; 1 for all unless
            given. 0 leaves the queries of one out.

    Raises:
        ConfigError: there is not one weight for each rewriter, one is negative, or all of them are
            0.
    """

    def __init__(
        self,
        *,
        first: Rewriter = use("full_history"),
        second: Rewriter | None = use("mmr"),
        third: Rewriter | None = use("blend"),
        fourth: Rewriter | None = None,
        fifth: Rewriter | None = None,
        weights: Sequence[float] | None = None,
    ) -> None:
        chosen = (first, second, third, fourth, fifth)
        self.of = {
            place: rewriter for place, rewriter in zip(_PLACES, chosen, strict=True) if rewriter
        }
        given = [1.0] * len(self.of) if weights is None else list(weights)
        are_weights = any(given) and all(weight >= 0 and isfinite(weight) for weight in given)
        if len(given) != len(self.of) or not are_weights:
            each = ", ".join(self.of)
            raise ConfigError(
                f"rewriter.weights={given}: name a weight for each of {each}: "
                "0 or more, one above 0"
            )
        self.weights = dict(zip(self.of, map(float, given), strict=True))

    def rewrite(self, question: Question) -> Rewrite:
        """Return the queries of the rewriters in their order, and what each of them did."""
        rewrites = self._ask_all(question)
        queries = [
            replace(
                query, weight=query.weight * self.weights[name], source=_join(name, query.source)
            )
            for name, rewrite in rewrites.items()
            for query in rewrite.queries
            if self.weights[name] and query.text.strip()
        ]
        failed = {name: rewrite.fallback for name, rewrite in rewrites.items() if rewrite.fallback}
        trace = {"of": {name: _describe(rewrite) for name, rewrite in rewrites.items()}}
        reasons = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
        return Rewrite(tuple(queries), trace, reasons if len(failed) == len(rewrites) else "")

    def _ask_all(self, question: Question) -> dict[str, Rewrite]:
        """Ask the rewriters, in threads: most of them wait for a language model."""
        rewrites = map_parallel(lambda rewriter: _ask(rewriter, question), self.of.values())
        return dict(zip(self.of, rewrites, strict=True))


def _ask(rewriter: Rewriter, question: Question) -> Rewrite:
    """Return the rewrite; the question and the reason where there is none."""
    try:
        rewrite = rewriter.rewrite(question)
    except (RunStopped, ImportError):
        raise  # a library that cannot be imported is a defect: no fallback
    except Exception as error:
        return Rewrite.of(question.text, fallback=f"{type(error).__name__}: {error}")
    if not any(query.text.strip() for query in rewrite.queries):
        return Rewrite.of(question.text, fallback="the rewriter gave no query", **rewrite.trace)
    return rewrite


def _join(name: str, source: str) -> str:
    """Name the source of a query; a nested ensemble names its own rewriters ("second/first")."""
    return f"{name}/{source}" if source else name


def _describe(rewrite: Rewrite) -> dict[str, Any]:
    """Describe what a rewriter did, for the trace."""
    described: dict[str, Any] = {"queries": [query.text for query in rewrite.queries]}
    if rewrite.trace:
        described["trace"] = dict(rewrite.trace)
    if rewrite.fallback:
        described["fallback"] = rewrite.fallback
    return described


@dataclass(kw_only=True, eq=False)
class ReformulateRewriter(Rewriter):
    """Ask the LLM for one of five kinds of queries, for use in `rewriter=ensemble`.

    "standalone" changes as little as possible; "keywords" are the words that a relevant passage has
    to contain; "entities" names every person, product and term in full, with other names for them;
    "answer" is a passage that could answer the question, invented (HyDE, Gao et al. 2023);
    "context" says the question together with what the last answer has said of it. The first
    question of a conversation is reformulated too, but for "standalone". If the LLM fails, the
    question is used, and the record gives the reason.

    Args:
        llm: the language model that rewrites. `llm=extractive` gives the same stand-alone question
            for every kind.
        kind: of the query.
        prompt: a Jinja file to use instead of this package's; it is given `question` and `history`
            (a list of `user` and `assistant`, oldest first).
        temperature: 0 gives the likeliest reply; None leaves it to the llm.
        max_tokens: the longest reply, in tokens; None leaves it to the llm.

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    llm: LLM
    kind: Literal["standalone", "keywords", "entities", "answer", "context"] = "standalone"
    prompt: Path | None = None
    temperature: Temperature | None = 0.0
    max_tokens: MaxTokens | None = 200

    def __post_init__(self) -> None:
        ours = Path(__file__).with_name(f"{self.kind}.jinja")
        template = PromptTemplate("rewrite", package="convrag_fusion", path=self.prompt or ours)
        self.llm_rewriter = LLMRewriter(
            self.llm, template, temperature=self.temperature, max_tokens=self.max_tokens
        )
        self.prompt_templates = (template,)

    def rewrite(self, question: Question) -> Rewrite:
        """Ask the LLM; nothing is asked to make a first question stand alone."""
        if self.kind == "standalone" and not question.history and not question.profile:
            return Rewrite.of(question.text)
        return self.llm_rewriter.rewrite(
            question, {"kind": self.kind}, history=format_exchanges(question.history)
        )
