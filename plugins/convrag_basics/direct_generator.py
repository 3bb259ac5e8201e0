"""`generator=direct`: one prompt with everything, and one answer."""

from pathlib import Path

from convrag import LLM, Answer, Evidence, Generator, PromptTemplate, Question
from convrag.sdk.citations import check_citations
from convrag.sdk.prompts import add_profile
from convrag.sdk.sentences import remove_citations


class DirectGenerator(Generator):
    """Give the LLM the conversation, the numbered passages and the question, and check what it cites.

    Earlier answers stand in the prompt without their citations, since the numbers name other passages now. Without
    evidence the prompt says that no passage was found; it mentions the user's profile where there is one. The
    trace counts the citations that were removed because no passage has their number (`citations_removed`).

    Args:
        llm: the language model that answers.
        max_tokens: the longest answer, in tokens; None leaves it to the llm.
        temperature: 0 gives the likeliest answer, higher values more varied ones; None leaves it to the llm.
        prompt: a Jinja file to use instead of this package's answer.jinja; it is given `question`, `history` (a list of
            `user` and `assistant`, oldest first) and `evidence` (a list of `number`, `text`, `title` and `hint`, which
            says whether the text is a hint at an earlier message).

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    streams = True

    def __init__(
        self, *, llm: LLM, max_tokens: int | None = None, temperature: float | None = None, prompt: Path | None = None
    ) -> None:
        self.llm = llm
        self.sampling = {"max_tokens": max_tokens, "temperature": temperature}
        self.template = PromptTemplate("answer", package="convrag_basics", path=prompt)
        self.prompt_templates = (self.template,)

    def generate(self, question: Question, evidence: Evidence) -> Answer:
        """One call of the LLM. Raises LLMError."""
        prompt = self.template.render(
            self.sampling,
            question=question.text,
            history=[{"user": turn.question, "assistant": remove_citations(turn.answer)} for turn in question.history],
            evidence=[
                {"number": item.number, "text": item.text, "title": item.passage.title, "hint": item.hint}
                for item in evidence.items
            ],
        )
        completion = self.llm.complete(add_profile(prompt, question.profile))
        checked = check_citations(completion.text, {item.number: item.passage.id for item in evidence.items})
        trace = {"prompt": self.template.hash, "model": completion.model, "citations_removed": checked.removed}
        return Answer(checked.text, checked.citations, trace)
