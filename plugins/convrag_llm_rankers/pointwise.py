"""`ranker=llm`: a language model judges each text by itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge

from convrag import LLMError, PromptTemplate
from convrag.sdk.errors import CutReply
from convrag_llm_rankers.conversation_ranker import ConversationRanker


@dataclass(kw_only=True, eq=False)
class LLMRanker(ConversationRanker):
    """Ask a language model about each passage: does it help to answer the last question?

    "yes" against "no" as the first word of the reply is a probability, where the server tells how
    likely its words were (`logprobs`: OpenAI, vLLM, llama.cpp); elsewhere the model gives a grade
    from 0 to 10 (Liang et al. 2022, HELM, for the first; Zhuang et al. 2024 for grades). One call
    for each text, side by side, each remembered. A reply that can be read in no way leaves the
    passages of the turn in the retriever's order, and its record says why.

    Args:
        llm: a language model.
        turns: exchanges before the question that it sees.
        depth: texts that it judges; the others follow in the order in which they came.
        scale: "probability" or "grade"; "auto" takes grades as soon as a reply comes without
            probabilities.
        prompt: a Jinja file to use instead of this package's relevant.jinja; it is given `query`
            and `passage`.
        grade_prompt: likewise for grade.jinja.
        temperature: 0 gives the likeliest reply; None leaves it to the llm.

    Raises:
        DataError: a prompt's file is missing or is no template.
    """

    libraries = ("pydantic",)

    depth: Annotated[int, Ge(1)] = 20
    scale: Literal["auto", "probability", "grade"] = "auto"
    prompt: Path | None = None
    grade_prompt: Path | None = None
    temperature: float | None = 0.0

    def __post_init__(self) -> None:
        self.yes_or_no = PromptTemplate("relevant", package="convrag_llm_rankers", path=self.prompt)
        self.grade = PromptTemplate("grade", package="convrag_llm_rankers", path=self.grade_prompt)
        self.prompt_templates = (self.yes_or_no, self.grade)
        self._has_logprobs = self.scale != "grade"

    def score_seen(self, query: str, texts: Sequence[str]) -> list[float]:
        """Score texts by probabilities or grades, from 0 to 1; all on one scale."""
        from convrag.sdk.parallel import map_parallel

        if self._has_logprobs:
            probabilities = self._find_probabilities(query, texts)
            if probabilities is not None:
                return probabilities
            if self.scale == "probability":
                raise LLMError(
                    "no probabilities came with the reply: ranker.scale=grade needs none"
                )
            self._has_logprobs = False
        return list(map_parallel(lambda text: self._find_grade(query, text), texts))

    def _find_probabilities(self, query: str, texts: Sequence[str]) -> list[float] | None:
        """Find the probability of each text; None where the server does not tell that of one."""
        from convrag.sdk.parallel import map_parallel

        # The first one alone: a server without probabilities is asked once in vain.
        first = self._find_probability(query, texts[0])
        if first is None:
            return None
        others = list(map_parallel(lambda text: self._find_probability(query, text), texts[1:]))
        found = [each for each in (first, *others) if each is not None]
        return found if len(found) == len(texts) else None

    def _find_probability(self, query: str, text: str) -> float | None:
        """Find the share of "yes" among the likely first words; None where there are none."""
        sampling: dict[str, Any] = {
            "temperature": self.temperature,
            "max_tokens": 1,
            "logprobs": True,
            "top_logprobs": 20,
        }
        prompt = self.yes_or_no.render(sampling, query=query, passage=text)
        try:
            words = self.llm.complete(prompt).first_words
        except CutReply:
            return None  # its one token is the beginning of a thought
        except LLMError as error:
            if self.scale == "auto" and _is_refused(error):
                return None  # the server does not know `logprobs`
            raise
        return compute_share(words)

    def _find_grade(self, query: str, text: str) -> float:
        from convrag.sdk.llm.structured_output import ask_json
        from convrag_llm_rankers.reply_forms import GradeReply

        sampling = {"temperature": self.temperature}
        prompt = self.grade.render(sampling, query=query, passage=text)
        return ask_json(self.llm, prompt, GradeReply).grade / 10


def _is_refused(error: LLMError) -> bool:
    """Whether a server refused a request as it is, rather than for the moment."""
    status = error.status
    return status is not None and 400 <= status < 500 and status != 429


def compute_share(words: Mapping[str, float]) -> float | None:
    """Compute the share of "yes" against "no"; None where neither is among the words.

    Args:
        words: likely first words of a reply -> the logarithm of their probability.

    Example:
        >>> round(compute_share({" Yes": -0.5, "yes": -2.0, "No": -1.5}), 2)
        0.77
    """
    yes = _add_probabilities(words, "yes")
    no = _add_probabilities(words, "no")
    return yes / (yes + no) if yes + no else None


def _add_probabilities(words: Mapping[str, float], wanted: str) -> float:
    """Add up the probabilities of the spellings of a word."""
    return sum(exp(value) for word, value in words.items() if word.strip().lower() == wanted)
