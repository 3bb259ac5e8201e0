"""`generator=direct`: one prompt with the conversation, the passages and the question."""

from pathlib import Path

from convrag import (
    LLM,
    Answer,
    Dataset,
    Evidence,
    Prompt,
    PromptTemplate,
    Question,
    Store,
)
from convrag.sdk.llm.prompts import add_profile
from convrag.sdk.llm.sampling import MaxTokens, Temperature
from convrag.sdk.llm.verdicts import add_form, ask_model
from convrag.sdk.text.answerability import (
    REFUSE,
    Asking,
    Decider,
    DecidingGenerator,
    Threshold,
)
from convrag.sdk.text.citations import check_citations
from convrag.sdk.text.quotations import find_quotations
from convrag.sdk.text.sentences import remove_citations


class DirectGenerator(DecidingGenerator):
    """Give the LLM the conversation, numbered passages and the question; check its citations.

    The prompt has earlier answers without their citations, since the numbers now name other
    passages. Without evidence the prompt says that no passage was found; it mentions the user's
    profile where there is one. The trace counts the citations that were removed because no passage
    has their number (`citations_removed`).

    Args:
        llm: the language model that answers.
        max_tokens: the longest answer, in tokens; None leaves it to the llm.
        temperature: 0 gives the likeliest answer, higher values more varied ones; None leaves it to
            the llm.
        dataset: its corpus tells rare words of a question from common ones.
        store: keeps the document frequencies.
        refuse: without a language model, a question is refused where the best passage has less than
            this share of its words, 0 to 1, rare ones first (docs/answers.md). A model decides in
            its reply. 0 answers all, and asks no model to decide.
        ask: "auto" lets a language model ask the user which of several things is meant.
        prompt: a Jinja file to use instead of this package's answer.jinja; it is given `question`,
            `history` (a list of `user` and `assistant`, oldest first) and `evidence` (a list of
            `number`, `text`, `title` and `hint`, which says whether the text is a hint at an
            earlier message).

    Raises:
        DataError: the prompt's file is missing or is not a template.
    """

    streams = True

    def __init__(
        self,
        *,
        llm: LLM,
        dataset: Dataset | None = None,
        store: Store | None = None,
        max_tokens: MaxTokens | None = None,
        temperature: Temperature | None = None,
        prompt: Path | None = None,
        refuse: Threshold = REFUSE,
        ask: Asking = "never",
    ) -> None:
        self.llm = llm
        self.decider = Decider(
            llm, dataset, store, refuse, ask, in_reply=prompt is None or ask != "never"
        )
        self.sampling = {"max_tokens": max_tokens, "temperature": temperature}
        self.template = PromptTemplate("answer", package="convrag_basics", path=prompt)
        self.prompt_templates = (self.template,)

    def generate(self, question: Question, evidence: Evidence) -> Answer:
        """Call the LLM once, or twice where it says nothing. Raises LLMError."""
        decision = self.decider.decide(question, evidence)
        if decision.reply:
            return decision.make_answer()
        prompt = self._render_prompt(question, evidence)
        prompt = add_profile(add_form(prompt, decision), question.profile)
        passages = [item.passage for item in evidence.items]
        decision, completion = ask_model(self.llm, prompt, decision, passages)
        numbers = {item.number: item.passage.id for item in evidence.items}
        checked = check_citations(decision.reply, numbers)
        trace = {
            "prompt": self.template.hash,
            "model": completion.model,
            "citations_removed": checked.removed,
            "outcome": decision.outcome,
            "decision": decision.trace(),
        }
        if decision.fallback:
            trace["fallback"] = decision.fallback
        cited = [passage for passage in passages if passage.id in checked.citations]
        quoted = () if self.decider.has_model else find_quotations(checked.text, cited)
        return Answer(checked.text, checked.citations, trace, quoted)

    def _render_prompt(self, question: Question, evidence: Evidence) -> Prompt:
        """Render the prompt; `standalone` and `refuse` are for an llm that reads inputs alone."""
        history = [
            {"user": turn.question, "assistant": remove_citations(turn.answer)}
            for turn in question.history
        ]
        shown = [
            {
                "number": item.number,
                "text": item.text,
                "title": item.passage.title,
                "hint": item.hint,
            }
            for item in evidence.items
        ]
        return self.template.render(
            self.sampling,
            question=question.text,
            standalone=question.standalone,
            refuse=0.0,
            history=history,
            evidence=shown,
        )
