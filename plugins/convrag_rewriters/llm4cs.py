"""`rewriter=llm4cs` and `rewriter=hyde`: sampled rewrites and answers, searched for at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge

from convrag import Embedder, LLMError, Query, Question, Rewrite
from convrag.sdk.llm.json_stage import JsonRewriter
from convrag.sdk.llm.sampling import MaxTokens, Temperature
from convrag_rewriters.parallel_requests import ask_all


@dataclass(kw_only=True, eq=False)
class LLM4CSRewriter(JsonRewriter):
    """Search for the mean vector of sampled rewrites and invented answers (LLM4CS).

    "rewrite" samples rewrites; "rewrite_and_response" samples rewrites that come with an answer;
    "rewrite_then_response" asks for one rewrite and samples answers to it, which for single
    questions is HyDE. "mean" gives all texts the same weight, so that a dense search adds their
    vectors up; "self_consistency" keeps the rewrite whose vector is nearest to the mean of all,
    with its answer, or of one rewrite the nearest answer; "max" asks once, with temperature 0, for
    the likeliest. Rewrites are for every search, answers for vectors. A sample that fails is left
    out; where no rewrite is left, the question is searched for as it stands, and the record says
    why.

    Source: Mao et al. 2023, "Large Language Models Know Your Contextual Search Intent", Findings of
    EMNLP; Gao et al. 2022, "Precise Zero-Shot Dense Retrieval without Relevance Labels" (HyDE). The
    prompts are ours, without examples and chains of thought.

    Args:
        llm: a language model.
        embedder: embeds the samples for "self_consistency"; not used otherwise.
        prompting: "rewrite", "rewrite_then_response" or "rewrite_and_response".
        aggregation: "mean", "max" or "self_consistency".
        n: samples, a request for each. Default: as published, and eight for rewriter=hyde.
        prompt: a Jinja file to use instead of this package's llm4cs.jinja; it is given `step`
            ("rewrite", "response", "both"), `question`, `standalone` (the rewrite that is to be
            answered) and `history` (a list of `user` and `assistant`, oldest first).
        temperature: above 0, so that samples differ; None leaves it to the llm. Default: as
            published.
        max_tokens: the longest reply, in tokens; None leaves it to the llm. Default: as published.

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    wording = "llm4cs"
    prompt_task = "samples"
    embedder: Embedder
    prompting: Literal["rewrite", "rewrite_then_response", "rewrite_and_response"] = (
        "rewrite_and_response"
    )
    aggregation: Literal["mean", "max", "self_consistency"] = "mean"
    n: Annotated[int, Ge(1)] = 5
    temperature: Temperature | None = 0.7
    max_tokens: MaxTokens | None = 256

    def __post_init__(self) -> None:
        if self.aggregation == "max":
            self.n, self.temperature = 1, 0.0
        super().__post_init__()

    @classmethod
    def uses_stage(cls, name: str, parameters: Mapping[str, Any]) -> bool:
        """Use the embedder for self-consistency alone."""
        return name != "embedder" or bool(parameters["aggregation"] == "self_consistency")

    def rewrite(self, question: Question) -> Rewrite:
        """Request each sample; nothing is asked where a first question only needs a rewrite."""
        if self.prompting == "rewrite" and not question.history and not question.profile:
            return Rewrite.of(question.text)
        trace: dict[str, Any] = {"prompt": self.template.hash}
        try:
            rewrites, answers, trace["failures"] = self._sample(question)
        except LLMError as error:
            return Rewrite.of(question.text, fallback=str(error), **trace)
        if self.aggregation == "self_consistency":
            compared = rewrites if len(rewrites) > 1 else answers or rewrites
            rows = self.embedder.embed(compared, query=compared is rewrites)
            kept = int((rows @ rows.mean(axis=0)).round(6).argmax())  # the first of equal ones
            trace["samples"] = compared
            rewrites, answers = rewrites[kept : kept + 1] or rewrites, answers[kept : kept + 1]
        weight = 1 / (len(rewrites) + len(answers))
        queries = [Query(text, weight, source=f"sample{n}") for n, text in enumerate(rewrites, 1)]
        for n, text in enumerate(answers, 1):
            queries.append(
                Query(text, weight, search="dense", source=f"sample{min(n, len(rewrites))}")
            )
        return Rewrite(tuple(queries), trace)

    def _sample(self, question: Question) -> tuple[list[str], list[str], list[str]]:
        """Rewrites, answers, and what failed. Raises LLMError where there is no rewrite."""
        from convrag_rewriters.reply_forms import BothReply, QuestionReply, TextReply

        if self.prompting == "rewrite_then_response":
            text = question.text
            if question.history or question.profile:
                text = self.ask(question, QuestionReply, step="rewrite").question
            answers, failures = ask_all(
                range(self.n),
                lambda n: self.ask(question, TextReply, n, step="response", standalone=text).text,
            )
            return [text], list(answers.values()), list(failures.values())
        form: type[QuestionReply] = BothReply
        step = "both"
        if self.prompting == "rewrite":
            form = QuestionReply
            step = "rewrite"
        samples, failures = ask_all(range(self.n), lambda n: self.ask(question, form, n, step=step))
        if not samples:
            raise LLMError(failures[0])
        answered = [sample.text for sample in samples.values() if isinstance(sample, BothReply)]
        return [sample.question for sample in samples.values()], answered, list(failures.values())
