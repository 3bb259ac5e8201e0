"""`rewriter=chiq`: the history is enhanced in five ways before the question is rewritten (CHIQ)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from convrag import Query, Question, Rewrite
from convrag.sdk.llm.json_stage import JsonRewriter
from convrag.sdk.llm.sampling import MaxTokens
from convrag_rewriters.parallel_requests import ask_all

ENHANCEMENTS = ("disambiguation", "expansion", "response", "switch", "summary")


@dataclass(kw_only=True, eq=False)
class CHIQRewriter(JsonRewriter):
    """Have a language model enhance the history in five ways, then rewrite the question (CHIQ).

    The model makes the question unambiguous, expands the last answer, guesses an answer, says
    whether the topic has changed, and summarises the history, each by a request of its own. After a
    change of topic the last exchange is shown alone. Of the enhanced history come a rewrite
    ("rewrite") and the words of likely passages ("search"); "fusion" searches for both, each by
    itself with retriever=fused. What fails is left out and named in the trace; where no query comes
    of it, the question is searched for as it stands, and the record says why. So is the first
    question of a conversation, for which nothing is asked.

    Source: Mo et al. 2024, "CHIQ: Contextual History Enhancement for Improving Query Rewriting in
    Conversational Search", EMNLP. Its second query comes of a model that was trained on pseudo
    queries; here a prompt asks for it.

    Args:
        llm: a language model.
        queries: "fusion", "rewrite" (the paper's CHIQ-AD) or "search" (in the place of CHIQ-FT).
        prompt: a Jinja file to use instead of this package's chiq.jinja; it is given `step` (the
            five enhancements:
            "disambiguation", "expansion", "response", "switch", "summary"; then "rewrite" or
            "search"), `question`, `history` (a list of `user` and `assistant`, oldest first) and
            `enhanced` (enhancement -> its text).
    """

    wording = "chiq"
    queries: Literal["fusion", "rewrite", "search"] = "fusion"
    max_tokens: MaxTokens | None = 400

    def __post_init__(self) -> None:
        super().__post_init__()
        self.wanted = ("rewrite", "search") if self.queries == "fusion" else (self.queries,)

    def rewrite(self, question: Question) -> Rewrite:
        """Send five requests at once, then one or two; none for a first question."""
        if not question.history and not question.profile:
            return Rewrite.of(question.text)
        enhanced, failures = self._ask_all(question, ENHANCEMENTS, {})
        texts, failed = self._ask_all(question, self.wanted, enhanced)
        trace = {"prompt": self.template.hash, "enhanced": enhanced, "failures": failures | failed}
        if not texts:
            return Rewrite.of(question.text, fallback=failed[self.wanted[0]], **trace)
        return Rewrite(tuple(Query(text, source=name) for name, text in texts.items()), trace)

    def _ask_all(
        self, question: Question, steps: Sequence[str], enhanced: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Step -> the model's reply, and step -> what failed."""
        from convrag_rewriters.reply_forms import QuestionReply, SwitchReply, TextReply

        forms: dict[str, Any] = {"switch": SwitchReply} | dict.fromkeys(
            ("expansion", "response", "summary"), TextReply
        )

        def ask(step: str) -> Any:
            reply = self.ask(question, forms.get(step, QuestionReply), step=step, enhanced=enhanced)
            return next(value for _, value in reply)  # of its one field

        return ask_all(steps, ask)
