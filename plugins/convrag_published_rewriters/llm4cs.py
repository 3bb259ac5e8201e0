"""`rewriter=llm4cs`: several sampled rewrites and answers of a language model, made one search (LLM4CS)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Ge

from convrag import LLM, Embedder, LLMError, PromptTemplate, Query, Question, Rewrite
from convrag.sdk.llm_rewriter import JsonRewriter
from convrag.sdk.parallel import map_parallel


class Sample(NamedTuple):
    """A rewrite, and what might answer it; both are empty where the model failed, and `failure` says why."""

    question: str = ""
    answer: str = ""
    failure: str = ""


class LLM4CSRewriter(JsonRewriter):
    """Sample rewrites and invented answers from a language model, and search for the mean of their vectors (LLM4CS).

    "rewrite" asks for a rewrite; "rewrite_then_response" then asks for an answer to it, with a second request;
    "rewrite_and_response" asks for both at once. "mean" gives all texts the same weight, so that a dense search adds
    their vectors up; "self_consistency" keeps the sample whose rewrite is nearest to the mean of all rewrites' vectors;
    "max" asks once, with temperature 0, for the likeliest sample. Rewrites are for every search, answers for vectors.
    Each sample has a source of its own. A sample that fails is left out; where all do, the question is searched for as
    it stands, and the record says why.

    Source: Mao et al. 2023, "Large Language Models Know Your Contextual Search Intent", Findings of EMNLP. The prompts
    are ours, without its examples and chains of thought.

    Args:
        llm: a language model.
        embedder: embeds the rewrites for "self_consistency"; not used otherwise.
        prompting: "rewrite", "rewrite_then_response" or "rewrite_and_response".
        aggregation: "mean", "max" or "self_consistency".
        n: samples, each a request or two. Default: as in the paper.
        prompt: a Jinja file to use instead of this package's samples.jinja; it is given `step` ("rewrite", "response",
            "both"), `question`, `standalone` (the rewrite that is to be answered) and `history` (a list of `user` and
            `assistant`, oldest first).
        temperature: above 0, so that samples differ; None leaves it to the llm. Default: as in the paper.
        max_tokens: the longest reply, in tokens; None leaves it to the llm.

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        embedder: Embedder,
        prompting: Literal["rewrite", "rewrite_then_response", "rewrite_and_response"] = "rewrite_and_response",
        aggregation: Literal["mean", "max", "self_consistency"] = "mean",
        n: Annotated[int, Ge(1)] = 5,
        prompt: Path | None = None,
        temperature: float | None = 0.7,
        max_tokens: int | None = 400,
    ) -> None:
        template = PromptTemplate("samples", package="convrag_published_rewriters", path=prompt)
        likeliest = aggregation == "max"
        super().__init__(llm, template, temperature=0.0 if likeliest else temperature, max_tokens=max_tokens)
        self.embedder = embedder
        self.prompting = prompting
        self.aggregation = aggregation
        self.n = 1 if likeliest else n

    @classmethod
    def uses_stage(cls, name: str, parameters: Mapping[str, Any]) -> bool:
        """The embedder for self-consistency alone."""
        return name != "embedder" or bool(parameters["aggregation"] == "self_consistency")

    def rewrite(self, question: Question) -> Rewrite:
        """A request for each sample, or two; none for a first question of which only a rewrite is wanted."""
        if self.prompting == "rewrite" and not question.history and not question.profile:
            return Rewrite.of(question.text)
        drawn = list(map_parallel(lambda attempt: self._draw(question, attempt), range(self.n)))
        samples = [sample for sample in drawn if sample.question]
        failures = [sample.failure for sample in drawn if sample.failure]
        trace: dict[str, Any] = {
            "prompt": self.template.hash,
            "samples": [each[:2] for each in samples],
            "failures": failures,
        }
        if not samples:
            return Rewrite.of(question.text, fallback=failures[0], **trace)
        if self.aggregation == "self_consistency":
            rows = self.embedder.embed([sample.question for sample in samples], query=True)
            trace["kept"] = kept = int((rows @ rows.mean(axis=0)).round(6).argmax())  # the first of equal ones
            samples = [samples[kept]]
        weight = 1 / sum(1 + bool(sample.answer) for sample in samples)
        queries = []
        for number, sample in enumerate(samples, 1):
            queries.append(Query(sample.question, weight, source=f"sample{number}"))
            if sample.answer:
                queries.append(Query(sample.answer, weight, search="dense", source=f"sample{number}"))
        return Rewrite(tuple(queries), trace)

    def _draw(self, question: Question, attempt: int) -> Sample:
        """One sample. Where only its answer failed, it has its rewrite and the failure."""
        from convrag_published_rewriters.replies import BothReply, QuestionReply, TextReply

        text = ""
        try:
            if self.prompting == "rewrite_and_response":
                both = self.ask(question, BothReply, attempt, step="both", standalone="")
                return Sample(both.question, both.text)
            alone = not question.history and not question.profile
            text = question.text if alone else self.ask(question, QuestionReply, attempt, step="rewrite").question
            if self.prompting == "rewrite":
                return Sample(text)
            return Sample(text, self.ask(question, TextReply, attempt, step="response", standalone=text).text)
        except LLMError as error:
            return Sample(text, failure=str(error))
