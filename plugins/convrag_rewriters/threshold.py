"""`rewriter=threshold`: an LLM rewrites the question, given exchanges similar to it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Interval

from convrag import LLM, Embedder, PromptTemplate, Question, Rewrite, Rewriter
from convrag.sdk.llm.rewriter import LLMRewriter, format_exchanges
from convrag.sdk.llm.sampling import MaxTokens, Temperature
from convrag.sdk.search.vectors import embed_new


@dataclass(kw_only=True, eq=False)
class ThresholdRewriter(Rewriter):
    """Ask the LLM for a stand-alone question, given the exchanges that are similar to it.

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
    temperature: Temperature | None = 0.0
    max_tokens: MaxTokens | None = 200

    def __post_init__(self) -> None:
        template = PromptTemplate("rewrite", package="convrag_rewriters", path=self.prompt)
        self.llm_rewriter = LLMRewriter(
            self.llm, template, temperature=self.temperature, max_tokens=self.max_tokens
        )
        self.prompt_templates = (template,)

    def rewrite(self, question: Question) -> Rewrite:
        """Ask the LLM, and embed new texts; neither for a first turn without a user's profile."""
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
