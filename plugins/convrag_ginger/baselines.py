"""`generator=baseline` and `generator=cot`: GINGER's baselines, with the same length limit."""

import re
from importlib import resources
from pathlib import Path
from typing import Annotated

from annotated_types import Ge

from convrag import LLM, Answer, Completion, Evidence, LLMError, Prompt, PromptTemplate, Question
from convrag.sdk.citations import check_citations
from convrag.sdk.deciding import DecidingGenerator
from convrag.sdk.prompts import add_complaint, add_profile
from convrag.sdk.sentences import get_first_sentence
from convrag_ginger.length_limit import LengthLimit, count_words

_ANSWER_LABEL = re.compile(
    r"^[ \t*_#>-]*(?:\(?(?:step[ \t]+)?\d+[ \t]*[.):][ \t*_]*)?(?:the[ \t]+)?(?:final[ \t]+)?answer[ \t*_]*"
    r"(?:[:：][ \t*_]*|$)",
    re.IGNORECASE | re.MULTILINE,
)
"""A line's beginning such as "Answer:", "4. Answer:", "**4. Answer:**", "4) Answer:", "Final answer:", "### Answer"."""


class BaselineGenerator(DecidingGenerator):
    """Answer with one call of the LLM from the passages and the rewritten question: the plain baseline.

    Of the answer those sentences are kept that fit GINGER's length limit, and citations of numbers that no passage has
    are removed. Where no sentence is short enough, not even without its last clauses, it is asked for once more; if
    that does not help, the first sentence is kept whole (`words_over` in the trace).

    Args:
        llm: the language model that answers.
        res_length_limit: the most sentences, of `words` words on average; 100 means 400 words instead.
        words: words per sentence on average, from which the limit in words follows.
        prompt: a Jinja file to use instead of this package's; it is given `question`, `history` (empty: the question
            stands alone), `evidence` (a list of `number`, `text`, `title` and `hint`, which is false: each passage is
            shown in full), `sentences` and `words`, the limits.
        temperature: 0 gives the likeliest answer; None leaves it to the llm.
        max_tokens: the longest reply, in tokens (1000: the seed); None leaves it to the llm.

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    template = "answer.jinja"

    def __init__(
        self,
        *,
        llm: LLM,
        res_length_limit: Annotated[int, Ge(1)] = 3,
        words: Annotated[int, Ge(1)] = 35,
        prompt: Path | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = 1000,
    ) -> None:
        self.llm = llm
        self.limit = LengthLimit.of(res_length_limit, words)
        self.sampling = {"temperature": temperature, "max_tokens": max_tokens}
        path = prompt or Path(str(resources.files("convrag_ginger").joinpath(self.template)))
        self.prompt = PromptTemplate("answer", package="convrag_ginger", path=path)
        self.prompt_templates = (self.prompt,)

    def generate(self, question: Question, evidence: Evidence) -> Answer:
        """One call of the LLM. Raises LLMError."""
        prompt = self.prompt.render(
            self.sampling,
            question=question.standalone or question.text,
            history=[],
            evidence=[
                {"number": item.number, "text": item.passage.content, "title": item.passage.title, "hint": False}
                for item in evidence.items  # in full: the prompt has no earlier message at which a hint could point
            ],
            sentences=self.limit.sentences,
            words=self.limit.words,
        )
        prompt = add_profile(prompt, question.profile)
        completion = self.llm.complete(prompt)
        reply = self._extract_answer(completion.text)
        text = self.limit.truncate_answer(reply)
        if reply.strip() and not text:
            completion, reply = self._ask_again(prompt, completion)
            text = self.limit.truncate_answer(reply) or get_first_sentence(reply)
        passages = {item.number: item.passage.id for item in reversed(evidence.items)}
        text, citations, removed = check_citations(text, passages)
        trace = {
            "prompt": self.prompt.hash,
            "model": completion.model,
            "citations_removed": removed,
            "words_cut": count_words([reply]) - count_words([text]),
            "words_over": max(0, count_words([text]) - self.limit.words),
        }
        return Answer(text, citations, trace)

    def _ask_again(self, prompt: Prompt, completion: Completion) -> tuple[Completion, str]:
        """A second reply where no sentence of the first is short enough; the first where there is none."""
        complaint = f"That is too long. Answer again, in whole sentences, with at most {self.limit.words} words in all."
        try:
            second = self.llm.complete(add_complaint(prompt, completion.text, complaint))
        except LLMError:
            second = completion
        reply = self._extract_answer(second.text)
        return (second, reply) if reply.strip() else (completion, self._extract_answer(completion.text))

    def _extract_answer(self, reply: str) -> str:
        return reply


class CotGenerator(BaselineGenerator):
    """Let the LLM reason in steps before it answers, with an example: the chain-of-thought baseline.

    The answer is the text after the last line that begins with "Answer:", numbered ("4. Answer:"), emphasised or a
    heading or not; or else the last paragraph. It is cut to GINGER's length limit.

    Args:
        llm: the language model that answers.
        res_length_limit: the most sentences, of `words` words on average; 100 means 400 words instead.
        words: words per sentence on average, from which the limit in words follows.
        prompt: a Jinja file to use instead of this package's cot.jinja; it is given `question`, `history` (empty: the
            question stands alone), `evidence` (a list of `number`, `text`, `title` and `hint`, which is false: each
            passage is shown in full), `sentences` and `words`.
        temperature: 0 gives the likeliest answer; None leaves it to the llm.
        max_tokens: the longest reply, in tokens, reasoning included (1000: the seed); None leaves it to the llm.

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    template = "cot.jinja"

    def _extract_answer(self, reply: str) -> str:
        for label in reversed(list(_ANSWER_LABEL.finditer(reply))):
            if answer := reply[label.end() :].strip():
                return answer
        return re.split(r"\n\s*\n", reply.strip())[-1]
