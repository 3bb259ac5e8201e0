"""`rewriter=threshold`: an LLM rewrites the question with the exchanges that are similar to it in its prompt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from convrag import LLM, ConfigError, Embedder, PromptTemplate, Question, Rewrite, Rewriter, Turn
from convrag.sdk.llm_rewriter import LLMRewriter, format_exchanges

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ThresholdRewriter(Rewriter):
    """Ask the LLM for a stand-alone question, with the exchanges that are similar to the question in the prompt.

    An exchange is in the prompt if its embedding is similar enough to the question's; the last exchange always is,
    since most pronouns refer to it. The exchanges are in chronological order. The first question of a conversation is
    not rewritten. If the LLM fails, or its reply is no question, the original question is used.

    Args:
        llm: the language model that rewrites.
        embedder: embeds each exchange (once) and the question.
        threshold: the least cosine similarity of an exchange with the question, -1 to 1; a higher one selects fewer
            exchanges (.3 is from the targeted rewrite of the DH-RAG authors).
        turns: the most exchanges in the prompt, with the last one; the most similar are preferred (5: same source).
        prompt: a Jinja file to use instead of this package's rewrite.jinja; it is given `question` and `history` (a
            list of `user` and `assistant`, oldest first).
        temperature: 0 gives the likeliest rewrite; None leaves it to the llm.
        max_tokens: the longest reply, in tokens; None leaves it to the llm.

    Raises:
        ConfigError: turns is below 1, or threshold is not between -1 and 1.
        DataError: the prompt's file is missing or is no template.
    """

    libraries = ("numpy",)

    def __init__(
        self,
        *,
        llm: LLM,
        embedder: Embedder,
        threshold: float = 0.3,
        turns: int = 5,
        prompt: Path | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = 200,
    ) -> None:
        if turns < 1:
            raise ConfigError(f"rewriter.turns={turns}: it must be at least 1, since the last exchange is always shown")
        if not -1 <= threshold <= 1:
            raise ConfigError(f"rewriter.threshold={threshold}: it must be a cosine, from -1 to 1")
        self.embedder = embedder
        self.threshold = threshold
        self.turns = turns
        template = PromptTemplate("rewrite", package="convrag_baselines", path=prompt)
        self.llm_rewriter = LLMRewriter(llm, template, temperature=temperature, max_tokens=max_tokens)
        self.prompt_templates = (template,)

    def rewrite(self, question: Question) -> Rewrite:
        """One call of the LLM, and embeddings of new texts; neither for a first turn, unless the user has a profile."""
        if not question.history:
            if question.profile:
                return self.llm_rewriter.rewrite(question, {"selected": [], "similarities": {}}, history=[])
            return Rewrite.of(question.text)
        query = self.embedder.embed([question.text], query=True)[0]
        similarities = [float(value) for value in self._embed_history(question) @ query]
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

    def _embed_history(self, question: Question) -> NDArray[np.float32]:
        """The embeddings of the history, shape (exchanges, dimensions); the conversation's state keeps them."""
        import numpy as np

        known = question.state(self)
        texts = [_format_exchange(turn) for turn in question.history]
        if new := [text for text in dict.fromkeys(texts) if text not in known]:
            known.update(zip(new, self.embedder.embed(new), strict=True))
        return np.stack([known[text] for text in texts])


def _format_exchange(turn: Turn) -> str:
    return f"{turn.question}\n{turn.answer}".strip()
