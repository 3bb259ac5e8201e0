"""The flat baseline that beats a hierarchy: the exchanges that resemble the question, and always the last one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from convrag import LLM, ConfigError, Embedder, PromptTemplate, Question, Rewrite, Rewriter, Turn
from convrag.sdk.llm_rewriter import LLMRewriter, format_exchanges

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ThresholdRewriter(Rewriter):
    """Ask the LLM for a stand-alone question, showing it the exchanges that resemble the question.

    An exchange is shown if its embedding is similar enough to the question's; the last one always is, since most
    pronouns point there. They are shown in the order in which they were held. The first turn is searched for as it is.

    Args:
        llm: the language model that rewrites.
        embedder: embeds each exchange (once) and the question.
        threshold: the least cosine similarity of an exchange with the question, -1 to 1; more selects fewer (.3: the
            targeted rewrite of the DH-RAG authors).
        turns: the most exchanges that are shown, the last one among them; the most similar go first (5: likewise).
        prompt: a Jinja file to use instead of this package's rewrite.jinja; it is given `question` and `history` (a
            list of `user` and `assistant`, oldest first).
        temperature: 0 gives the likeliest rewrite; None leaves it to the llm.
        max_tokens: the longest reply, in tokens; None leaves it to the llm.

    Raises:
        ConfigError: turns is below 1, or threshold is no cosine.
        DataError: the prompt's file is missing or is no template.
    """

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
            raise ConfigError(f"rewriter.turns={turns}: at least 1, for the last exchange is always shown")
        if not -1 <= threshold <= 1:
            raise ConfigError(f"rewriter.threshold={threshold}: a cosine lies between -1 and 1")
        self.embedder = embedder
        self.threshold = threshold
        self.turns = turns
        template = PromptTemplate("rewrite", package="convrag_baselines", path=prompt)
        self.asker = LLMRewriter(llm, template, temperature=temperature, max_tokens=max_tokens)

    def content_hash(self) -> str:
        """The wording of the prompt."""
        return self.asker.template.hash

    def rewrite(self, question: Question) -> Rewrite:
        """Embeddings for what was not embedded before, and one call of the LLM; neither for a first turn."""
        if not question.history:
            return Rewrite.of(question.text)
        wanted = self.embedder.embed([question.text], query=True)[0]
        similarities = [float(value) for value in self._vectors(question) @ wanted]
        *earlier, last = range(len(similarities))
        similar = [index for index in earlier if similarities[index] >= self.threshold]
        similar.sort(key=lambda index: (-similarities[index], -index))
        chosen = sorted([*similar[: self.turns - 1], last])
        turns = [question.history[index] for index in chosen]
        named = zip(question.history, similarities, strict=True)
        trace = {
            "selected": [turn.id for turn in turns],
            "similarities": {turn.id: round(value, 4) for turn, value in named},
        }
        return self.asker.rewrite(question, trace, history=format_exchanges(turns))

    def _vectors(self, question: Question) -> NDArray[np.float32]:
        """One row per exchange of the history; the question's conversation keeps those that are there."""
        import numpy as np

        known = question.state(self)
        texts = [_exchange(turn) for turn in question.history]
        if new := [text for text in dict.fromkeys(texts) if text not in known]:
            known.update(zip(new, self.embedder.embed(new), strict=True))
        return np.stack([known[text] for text in texts])


def _exchange(turn: Turn) -> str:
    return f"{turn.question}\n{turn.answer}".strip()
