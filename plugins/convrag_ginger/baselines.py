"""`generator=baseline` and `generator=cot`: what GINGER is compared with, at the same length."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from convrag import LLM, Answer, Evidence, Generator, PromptTemplate, Question
from convrag_ginger.citing import checked
from convrag_ginger.length_limit import Length, word_count

_MARK = re.compile(r"^[\s*#]*(?:final\s+)?answer\s*:[\s*]*", re.IGNORECASE | re.MULTILINE)


class BaselineGenerator(Generator):
    """Give the LLM the passages and the rewritten question, and cut its answer to GINGER's length: the plain baseline.

    Args:
        llm: the language model that answers.
        res_length_limit: the most sentences, of `words` words each on average; 100 means 400 words instead.
        words: see there.
        prompt: a Jinja file to use instead of this package's; it is given `question`, `history` (empty: the question
            stands alone), `evidence` (a list of `number`, `text`, `title`), `sentences` and `words`, the limits.
        temperature: 0 gives the likeliest answer; None leaves it to the llm.
        max_tokens: the longest reply, in tokens (1000: the seed's); None leaves it to the llm.

    Raises:
        ConfigError: a number is below 1.
        DataError: the prompt's file is missing or is no template.
    """

    template = "answer.jinja"

    def __init__(
        self,
        *,
        llm: LLM,
        res_length_limit: int = 3,
        words: int = 35,
        prompt: Path | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = 1000,
    ) -> None:
        self.llm = llm
        self.length = Length.of(res_length_limit, words)
        self.sampling = {"temperature": temperature, "max_tokens": max_tokens}
        path = prompt or Path(str(resources.files("convrag_ginger").joinpath(self.template)))
        self.prompt = PromptTemplate("answer", package="convrag_ginger", path=path)

    def content_hash(self) -> str:
        """The wording of the prompt."""
        return self.prompt.hash

    def generate(self, question: Question, evidence: Evidence) -> Answer:
        """One call of the LLM. Raises LLMError."""
        prompt = self.prompt.render(
            self.sampling,
            question=question.standalone or question.text,
            history=[],
            evidence=[
                {"number": item.number, "text": item.passage.content, "title": item.passage.title}
                for item in evidence.items
            ],
            sentences=self.length.sentences,
            words=self.length.words,
        )
        completion = self.llm.complete(prompt)
        reply = self._answer(completion.text)
        text, citations, removed = checked(self.length.cut(reply), evidence)
        trace = {
            "prompt": self.prompt.hash,
            "model": completion.model,
            "citations_removed": removed,
            "words_cut": word_count([reply]) - word_count([text]),
        }
        return Answer(text, citations, trace)

    def _answer(self, reply: str) -> str:
        return reply


class CotGenerator(BaselineGenerator):
    """Let the LLM think in steps before it answers, with an example: the chain-of-thought baseline.

    What counts is what stands behind the last "Answer:", or else the last paragraph; it is cut to GINGER's length.

    Args:
        llm: the language model that answers.
        res_length_limit: the most sentences, of `words` words each on average; 100 means 400 words instead.
        words: see there.
        prompt: a Jinja file to use instead of this package's cot.jinja; it is given `question`, `history` (empty: the
            question stands alone), `evidence` (a list of `number`, `text`, `title`), `sentences` and `words`.
        temperature: 0 gives the likeliest answer; None leaves it to the llm.
        max_tokens: the longest reply, in tokens, its thoughts included (1000: the seed's); None leaves it to the llm.

    Raises:
        ConfigError: a number is below 1.
        DataError: the prompt's file is missing or is no template.
    """

    template = "cot.jinja"

    def _answer(self, reply: str) -> str:
        marks = list(_MARK.finditer(reply))
        if marks:
            return reply[marks[-1].end() :].strip()
        return re.split(r"\n\s*\n", reply.strip())[-1]
