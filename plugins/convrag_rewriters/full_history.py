"""Rewriters that ask an LLM for a stand-alone question, and the choice between them and the rules."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Interval

from convrag import LLM, Embedder, PromptTemplate, Question, Rewrite, Rewriter, use
from convrag.sdk.llm.rewriter import LLMRewriter, format_exchanges
from convrag.sdk.search.vectors import embed_new


class FullHistoryRewriter(Rewriter):
    """Ask the LLM for a stand-alone question, with the whole conversation in the prompt.

    The first question of a conversation is not rewritten. If the LLM fails, or its reply is no
    question, the original question is used, and the record gives the reason.

    Args:
        llm: the language model that rewrites.
        prompt: a Jinja file to use instead of this package's rewrite.jinja; it is given `question`
            and `history` (a list of `user` and `assistant`, oldest first).
        temperature: 0 gives the likeliest rewrite; None leaves it to the llm.
        max_tokens: the longest reply, in tokens, far more than a question needs; None leaves it to
            the llm.

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        prompt: Path | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = 200,
    ) -> None:
        template = PromptTemplate("rewrite", package="convrag_rewriters", path=prompt)
        self.llm_rewriter = LLMRewriter(
            llm, template, temperature=temperature, max_tokens=max_tokens
        )
        self.prompt_templates = (template,)

    def rewrite(self, question: Question) -> Rewrite:
        """One call of the LLM, but none for a first turn, unless the user has a profile."""
        if not question.history and not question.profile:
            return Rewrite.of(question.text)
        return self.llm_rewriter.rewrite(question, {}, history=format_exchanges(question.history))


@dataclass(kw_only=True, eq=False)
class ThresholdRewriter(Rewriter):
    """Ask the LLM for a stand-alone question, with the exchanges that are similar to the question in the prompt.

    An exchange is in the prompt if its embedding is similar enough to the question's; the last
    exchange always is, since most pronouns refer to it. The exchanges are in chronological order.
    The first question of a conversation is not rewritten. If the LLM fails, or its reply is no
    question, the original question is used.

    Args:
        llm: the language model that rewrites.
        embedder: embeds each exchange (once) and the question.
        threshold: the least cosine similarity of an exchange with the question, -1 to 1; a higher
            one selects fewer exchanges (.3 is from the targeted rewrite of the DH-RAG authors).
        turns: the most exchanges in the prompt, with the last one; the most similar are preferred
            (5: same source).
        prompt: a Jinja file to use instead of this package's rewrite.jinja; it is given `question`
            and `history` (a list of `user` and `assistant`, oldest first).
        temperature: 0 gives the likeliest rewrite; None leaves it to the llm.
        max_tokens: the longest reply, in tokens; None leaves it to the llm.

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    libraries = ("numpy",)

    llm: LLM
    embedder: Embedder
    threshold: Annotated[float, Interval(ge=-1, le=1)] = 0.3
    turns: Annotated[int, Ge(1)] = 5
    prompt: Path | None = None
    temperature: float | None = 0.0
    max_tokens: int | None = 200

    def __post_init__(self) -> None:
        template = PromptTemplate("rewrite", package="convrag_rewriters", path=self.prompt)
        self.llm_rewriter = LLMRewriter(
            self.llm, template, temperature=self.temperature, max_tokens=self.max_tokens
        )
        self.prompt_templates = (template,)

    def rewrite(self, question: Question) -> Rewrite:
        """One call of the LLM, and embeddings of new texts; neither for a first turn, unless the
        user has a profile.
        """
        if not question.history:
            if question.profile:
                return self.llm_rewriter.rewrite(
                    question, {"selected": [], "similarities": {}}, history=[]
                )
            return Rewrite.of(question.text)
        query = self.embedder.embed([question.text], query=True)[0]
        texts = [f"{turn.question}\n{turn.answer}".strip() for turn in question.history]
        similarities = [
            float(value) for value in embed_new(self.embedder, texts, question.state(self)) @ query
        ]
        *earlier, last = range(len(similarities))
        similar = [index for index in earlier if similarities[index] >= self.threshold]
        similar.sort(key=lambda index: (-similarities[index], -index))
        chosen = sorted([*similar[: self.turns - 1], last])
        turns = [question.history[index] for index in chosen]
        by_turn = zip(question.history, similarities, strict=True)
        trace = {
            "selected": [turn.id for turn in turns],
            "similarities": {turn.id: round(value, 4) for turn, value in by_turn},
        }
        return self.llm_rewriter.rewrite(question, trace, history=format_exchanges(turns))


class AutoRewriter(Rewriter):
    """Rewrite with rewriter=full_history if the run's llm is a language model, else with four rules together.

    So `llm=gpt4` alone has GPT-4 rewrite, and a run without a model has the best that rules can do:
    the queries of weighted_history, full_history, blend and mmr_words, each rule with the same
    weight. The four err in different ways, so that together they find more than each alone
    (docs/benchmarks.md has the figures). A stage that works by rules says so itself (`LLM.tasks`).
    The run's summary says what was used, and the record of each turn does (`by`).

    Args:
        llm: decides how to rewrite, and rewrites if it is a language model.
        prompting: the rewriter for a language model, with its parameters
            (`rewriter.prompting=mmr`); without one it is one of the four.
        weighing: another of the four: `rewriter.weighing.weight=.3`. Its first query is the
            rewritten question.
        blending: the third of them: `rewriter.blending.weight=.3`.
        selecting: the fourth of them: `rewriter.selecting=mmr` compares sentences by the run's
            embedder.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        prompting: Rewriter = use("full_history"),
        weighing: Rewriter = use("weighted_history"),
        blending: Rewriter = use("blend"),
        selecting: Rewriter = use("mmr_words"),
    ) -> None:
        self.uses_model = llm.tasks is None
        self.prompting = prompting
        self.rules = {
            "weighing": weighing,
            "prompting": prompting,
            "blending": blending,
            "selecting": selecting,
        }

    @classmethod
    def uses_stage(cls, name: str, parameters: Mapping[str, Any]) -> bool:
        """A language model needs no rules."""
        return name in ("llm", "prompting") or parameters["llm"].tasks is not None

    def rewrite(self, question: Question) -> Rewrite:
        """What the model, or the rules, make of it; a question without history is searched for as
        it is.
        """
        if self.uses_model:
            rewrite = self.prompting.rewrite(question)
            return replace(rewrite, trace={"by": "language model", **rewrite.trace})
        rewrites = {name: rule.rewrite(question) for name, rule in self.rules.items()}
        distinct = list(dict.fromkeys(rewrite.queries for rewrite in rewrites.values()))
        if len(distinct) == 1:
            queries = distinct[0]
        else:
            queries = tuple(
                replace(query, weight=query.weight / len(rewrites), source=name)
                for name, rewrite in rewrites.items()
                for query in rewrite.queries
            )
        traces = {name: dict(rewrite.trace) for name, rewrite in rewrites.items() if rewrite.trace}
        reasons = dict.fromkeys(
            rewrite.fallback for rewrite in rewrites.values() if rewrite.fallback
        )
        return Rewrite(queries, {"by": "rules", **traces}, "; ".join(reasons))

    def note(self) -> str:
        """Which way was chosen."""
        if self.uses_model:
            return "the llm is a language model, and rewrites the questions (rewriter=full_history)"
        return "the llm is no language model: questions are rewritten by four rules together"
