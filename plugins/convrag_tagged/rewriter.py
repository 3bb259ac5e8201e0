"""`rewriter=tagged`: a model thinks, and writes its rewrite in tags."""

from dataclasses import dataclass, replace
from typing import Any

from convrag import Completion, LLMError, Question, Rewrite
from convrag.sdk.llm.json_stage import JsonRewriter
from convrag.sdk.llm.prompts import add_profile
from convrag.sdk.llm.rewriter import format_exchanges
from convrag.sdk.llm.sampling import MaxTokens
from convrag_tagged.tags import TagPair, find_span, is_cut, protect_tags


@dataclass(kw_only=True, eq=False)
class TaggedRewriter(JsonRewriter):
    """Ask a model that thinks, and then writes its rewrite in tags (ConvSearch-R1, or any LLM).

    One request, also for a first question. The rewrite is what the reply has between the tags; it
    may be several sentences, since such models write what a passage would say. Where the reply has
    no rewrite, or was cut before its end, the question is searched for as it stands, and the record
    says why.

    Source: Zhu et al. 2025, "ConvSearch-R1: Enhancing Query Reformulation for Conversational Search
    with Reasoning via Reinforcement Learning", EMNLP. The words of the prompt are ours.

    Args:
        llm: a language model.
        tags: the tags of the rewrite, with three dots between them.
        thoughts: the tags of the model's thoughts.
        prompt: a Jinja file to use instead of this package's rewrite.jinja; it is given `question`,
            `history` (a list of `user` and `assistant`, oldest first), `tags` and `thoughts` (each
            with `opening` and `closing`).
        temperature: 0 gives the likeliest reply; None leaves it to the llm.
        max_tokens: the longest reply, in tokens, with its thoughts; None leaves it to the llm.

    Raises:
        ConfigError: the tags are not two with three dots between them.
        DataError: the prompt's file is missing or is no template.
    """

    wording = "rewrite"
    prompt_task = "tagged_rewrite"

    tags: str = "<rewrite>...</rewrite>"
    thoughts: str = "<think>...</think>"
    max_tokens: MaxTokens | None = 1024

    def __post_init__(self) -> None:
        super().__post_init__()
        self.pair = TagPair.parse(self.tags, "rewriter.tags")
        self.thought_tags = TagPair.parse(self.thoughts, "rewriter.thoughts")
        self.sampling["stop"] = [self.pair.closing]

    def rewrite(self, question: Question) -> Rewrite:
        """Ask the model, and read the rewrite."""
        prompt = self.template.render(
            self.sampling,
            question=question.text,
            history=format_exchanges(question.history),
            tags=self.pair.describe(),
            thoughts=self.thought_tags.describe(),
        )
        prompt = add_profile(replace(prompt, reads_thoughts=True), question.profile)
        trace: dict[str, Any] = {"prompt": self.template.hash}
        try:
            completion = self.llm.complete(prompt)
        except LLMError as error:
            return Rewrite.of(question.text, fallback=str(error), **trace)
        text = self.find_rewrite(completion)
        if not text:
            reason = self.explain_failure(completion)
            trace["reply"] = protect_tags(completion.text, [self.thought_tags])
            return Rewrite.of(question.text, fallback=reason, **trace)
        return Rewrite.of(text, **trace, model=completion.model)

    def find_rewrite(self, completion: Completion) -> str:
        """Find the rewrite in the text of a reply, else in its thoughts; empty where none is whole.

        A thought that has no end may hold the rewrite: the model forgot to close it.
        """
        for part in (completion.text, completion.reasoning):
            span = find_span(part, [self.pair])
            is_whole = span is not None and (span.is_closed or not is_cut(completion))
            if span is not None and is_whole:
                return " ".join(span.text.split())
        return ""

    def explain_failure(self, completion: Completion) -> str:
        """Say why a reply has no rewrite."""
        if is_cut(completion):
            return "the reply was cut at max_tokens before its rewrite: raise rewriter.max_tokens"
        if not completion.text:
            return f"the model thought, and wrote no {self.pair.opening}"
        return f"the reply has no {self.pair.opening}"
