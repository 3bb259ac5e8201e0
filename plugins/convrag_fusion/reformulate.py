"""`rewriter=reformulate`: one of five ways to put a question to a search engine, by a language model."""

from pathlib import Path
from typing import Literal

from convrag import LLM, PromptTemplate, Question, Rewrite, Rewriter
from convrag.sdk.llm_rewriter import LLMRewriter, format_exchanges


class ReformulateRewriter(Rewriter):
    """Ask the LLM for one of five kinds of queries, which complement each other in `rewriter=ensemble`.

    "standalone" changes as little as possible; "keywords" are the words that a relevant passage has to contain;
    "entities" names every person, product and term in full, with other names for them; "answer" is a passage that
    could answer the question, invented (HyDE, Gao et al. 2023); "context" says the question together with what the last
    answer has said of it. The first question of a conversation is reformulated too, but for "standalone". If the LLM
    fails, the question is used, and the record gives the reason.

    Args:
        llm: the language model that rewrites. `llm=extractive` gives the same stand-alone question for every kind.
        kind: of the query.
        prompt: a Jinja file to use instead of this package's; it is given `question` and `history` (a list of `user`
            and `assistant`, oldest first).
        temperature: 0 gives the likeliest reply; None leaves it to the llm.
        max_tokens: the longest reply, in tokens; None leaves it to the llm.

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        kind: Literal["standalone", "keywords", "entities", "answer", "context"] = "standalone",
        prompt: Path | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = 200,
    ) -> None:
        ours = Path(__file__).with_name(f"{kind}.jinja")
        template = PromptTemplate("rewrite", package="convrag_fusion", path=prompt or ours)
        self.kind = kind
        self.llm_rewriter = LLMRewriter(llm, template, temperature=temperature, max_tokens=max_tokens)
        self.prompt_templates = (template,)

    def rewrite(self, question: Question) -> Rewrite:
        """One call of the LLM; none for a first question that is only to be made stand-alone."""
        if self.kind == "standalone" and not question.history and not question.profile:
            return Rewrite.of(question.text)
        return self.llm_rewriter.rewrite(question, {"kind": self.kind}, history=format_exchanges(question.history))
