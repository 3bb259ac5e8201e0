"""`generator=baseline` and `generator=cot`: the baselines of GINGER, with its length limit."""

import re
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Ge

from convrag import (
    LLM,
    Answer,
    Completion,
    Dataset,
    Evidence,
    LLMError,
    Prompt,
    PromptTemplate,
    Question,
    Store,
)
from convrag.sdk.llm.prompts import add_complaint, add_profile
from convrag.sdk.text.answerability import REFUSE, Decider, DecidingGenerator, Threshold
from convrag.sdk.text.citations import check_citations
from convrag.sdk.text.quotations import find_quotations
from convrag.sdk.text.sentences import get_first_sentence
from convrag_ginger.length_limit import LengthLimit, count_words

_ANSWER_LABEL = re.compile(
    r"""
    ^ [ \t*_#>-]*                                            # emphasis, a heading, a list
    (?: \(? (?:step[ \t]+)? \d+ [ \t]* [.):] [ \t*_]* )?     # "4.", "(4)", "Step 4:"
    (?: the[ \t]+ )? (?: final[ \t]+ )? answer
    [ \t*_]* (?: [:：] [ \t*_]* | $ )
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
"""The beginning of a line such as "Answer:", "**4. Answer:**", "Final answer:", "### Answer"."""

_PARAGRAPHS = re.compile(r"\n\s*\n")


class BaselineGenerator(DecidingGenerator):
    """Answer the rewritten question from the top passages with one prompt, within a length limit.

    The prompt has the passages in full, without the conversation. Of the reply, the first sentences
    that fit the limit are kept. Citations of numbers that no passage has are removed. If no
    sentence fits, even without its last clauses, the LLM is asked once more. If that does not help,
    the first sentence is kept whole (`words_over` in the trace).

    Args:
        llm: the language model that answers.
        dataset: its corpus tells rare words of a question from common ones.
        store: keeps the document frequencies.
        res_length_limit: the most sentences, of `words` words on average; 100 means 400 words
            instead (GINGER's convention).
        words: the words of a sentence on average, from which the limit in words follows (35:
            GINGER).
        refuse: without a language model, a question is refused where the best passage has less than
            this share of its words, 0 to 1, rare ones first (docs/answers.md); 0 answers all. The
            prompt asks a model to say in one sentence that the passages lack the answer.
        prompt: a Jinja file to use instead of this package's baseline.jinja; it is given
            `question`, `history` (empty, since the question stands alone), `evidence` (a list of
            `number`, `text`, `title` and `hint`, which is false, since each passage is shown in
            full), `sentences` and `words` (the limits).
        temperature: 0 gives the likeliest answer; None leaves it to the llm.
        max_tokens: the longest reply, in tokens (1000: GINGER); None leaves it to the llm.

    Raises:
        DataError: the prompt's file is missing or is not a template.
    """

    template_name: ClassVar[str] = "baseline"

    def __init__(
        self,
        *,
        llm: LLM,
        dataset: Dataset | None = None,
        store: Store | None = None,
        res_length_limit: Annotated[int, Ge(1)] = 3,
        words: Annotated[int, Ge(1)] = 35,
        refuse: Threshold = REFUSE,
        prompt: Path | None = None,
        temperature: Annotated[float, Ge(0)] | None = 0.0,
        max_tokens: Annotated[int, Ge(1)] | None = 1000,
    ) -> None:
        self.llm = llm
        self.decider = Decider(llm, dataset, store, refuse)
        self.limit = LengthLimit.of(res_length_limit, words)
        self.sampling = {"temperature": temperature, "max_tokens": max_tokens}
        self.template = PromptTemplate(
            "answer", package="convrag_ginger", path=prompt, name=self.template_name
        )
        self.prompt_templates = (self.template,)

    def generate(self, question: Question, evidence: Evidence) -> Answer:
        """Call the LLM once, or twice where the reply is too long. Raises LLMError."""
        decision = self.decider.decide(question, evidence)
        if decision.reply:
            return decision.make_answer()
        prompt = self._render_prompt(question, evidence)
        completion, reply, text = self._ask(prompt)
        numbers = {item.number: item.passage.id for item in evidence.items}
        checked = check_citations(text, numbers)
        words = count_words([checked.text])
        trace = {
            "prompt": self.template.hash,
            "model": completion.model,
            "citations_removed": checked.removed,
            "words_cut": count_words([reply]) - words,
            "words_over": max(0, words - self.limit.words),
            "outcome": decision.outcome,
            "decision": decision.trace(),
        }
        passages = [item.passage for item in evidence.items]
        cited = [passage for passage in passages if passage.id in checked.citations]
        quoted = () if self.decider.has_model else find_quotations(checked.text, cited)
        return Answer(checked.text, checked.citations, trace, quoted)

    def _render_prompt(self, question: Question, evidence: Evidence) -> Prompt:
        """Render the prompt; `refuse` is for an llm that reads inputs alone."""
        shown: list[dict[str, Any]] = []
        for item in evidence.items:
            passage = item.passage
            row = {"number": item.number, "text": passage.content, "title": passage.title}
            shown.append({**row, "hint": False})
        prompt = self.template.render(
            self.sampling,
            question=question.standalone or question.text,
            history=[],
            evidence=shown,
            sentences=self.limit.sentences,
            words=self.limit.words,
            refuse=0.0,
        )
        return add_profile(prompt, question.profile)

    def _ask(self, prompt: Prompt) -> tuple[Completion, str, str]:
        """Ask for an answer, and once more if no sentence of it fits the limit.

        Returns:
            The reply as it came, the answer in it, and that answer within the limit.
        """
        completion = self.llm.complete(prompt)
        answer = self._read_answer(completion.text)
        text = self.limit.truncate_answer(answer)
        if text or not answer.strip():
            return completion, answer, text
        second = self._ask_for_less(prompt, completion)
        if second:
            completion = second
            answer = self._read_answer(second.text)
            text = self.limit.truncate_answer(answer)
        return completion, answer, text or get_first_sentence(answer)

    def _ask_for_less(self, prompt: Prompt, completion: Completion) -> Completion | None:
        """Ask for a shorter answer; None where there is none."""
        complaint = (
            "That is too long. Answer again, in whole sentences, with at most "
            f"{self.limit.words} words in all."
        )
        try:
            second = self.llm.complete(add_complaint(prompt, completion.text, complaint))
        except LLMError:
            return None
        return second if self._read_answer(second.text).strip() else None

    def _read_answer(self, reply: str) -> str:
        """Read the answer in a reply."""
        return reply


class CotGenerator(BaselineGenerator):
    """Answer as generator=baseline does, after reasoning in four steps (chain of thought).

    The prompt asks for the pieces of information, their groups, the order of the groups and the
    answer, and has an example. The answer is the text after the last line that begins with
    "Answer:", which may be numbered ("4. Answer:"), emphasised or a heading; without such a line it
    is the last paragraph.

    Args:
        llm: the language model that answers.
        dataset: its corpus tells rare words of a question from common ones.
        store: keeps the document frequencies.
        res_length_limit: the most sentences, of `words` words on average; 100 means 400 words
            instead (GINGER's convention).
        words: the words of a sentence on average, from which the limit in words follows (35:
            GINGER).
        refuse: without a language model, a question is refused where the best passage has less than
            this share of its words, 0 to 1, rare ones first (docs/answers.md); 0 answers all. The
            prompt asks a model to say in one sentence that the passages lack the answer.
        prompt: a Jinja file to use instead of this package's cot.jinja; it is given `question`,
            `history` (empty, since the question stands alone), `evidence` (a list of `number`,
            `text`, `title` and `hint`, which is false, since each passage is shown in full),
            `sentences` and `words` (the limits).
        temperature: 0 gives the likeliest answer; None leaves it to the llm.
        max_tokens: the longest reply with its reasoning, in tokens (1000: GINGER); None leaves it
            to the llm.

    Raises:
        DataError: the prompt's file is missing or is not a template.
    """

    template_name: ClassVar[str] = "cot"

    def _read_answer(self, reply: str) -> str:
        if not self.decider.has_model:
            return reply  # rules quote passages, and do not reason
        for label in reversed(list(_ANSWER_LABEL.finditer(reply))):
            answer = reply[label.end() :].strip()
            if answer:
                return answer
        return _PARAGRAPHS.split(reply.strip())[-1]
