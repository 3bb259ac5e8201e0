"""The choice between two drafts by the votes of judges."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from convrag import LLM, Evidence, LLMError, PromptTemplate, Question
from convrag.sdk.structured_output import ask_json
from convrag_drafts.drafting import Draft, Source
from convrag_drafts.evidence_spans import describe_question, list_passages

Criterion = Literal["support", "completeness", "relevance"]
CRITERIA: tuple[Criterion, ...] = ("support", "completeness", "relevance")
"""What judges look at, in this order: two votes each, one in either order of the drafts."""


@dataclass(frozen=True)
class Vote:
    """A judge's vote: which draft stood first, and which is better; `failure` says why there is no vote."""

    criterion: Criterion
    first: Source
    better: Source | Literal["tie"] | None
    failure: str = ""


@dataclass(frozen=True)
class Choice:
    """The draft that was chosen, and the votes, in the order in which they were asked for."""

    draft: Draft
    votes: tuple[Vote, ...] = ()

    def trace(self) -> list[dict[str, Any]]:
        """What the trace holds of the votes."""
        return [{name: value for name, value in asdict(vote).items() if value != ""} for vote in self.votes]


class DraftJudges:
    """Asks a model for votes until they decide.

    Args:
        llm: the language model that judges.
        template: of the task "choose".
        sampling: of the calls.
        votes: the most votes.
    """

    def __init__(self, llm: LLM, template: PromptTemplate, sampling: dict[str, Any], votes: int) -> None:
        self.llm = llm
        self.template = template
        self.sampling = sampling
        self.votes = votes

    def choose(self, question: Question, evidence: Evidence, first: Draft, second: Draft) -> Choice:
        """The draft with more votes; the first where they are equal, and where no vote can be read.

        A call of the LLM for each vote, or two where a reply cannot be read. Equal drafts need none.
        """
        if first.text == second.text:
            return Choice(first)
        votes: list[Vote] = []
        ahead = 0  # votes for the second, less those for the first
        for number in range(self.votes):
            left = self.votes - number
            if ahead > left or ahead + left <= 0:
                break
            criterion = CRITERIA[number // 2 % len(CRITERIA)]
            pair = (second, first) if number % 2 else (first, second)
            vote = self._ask(question, evidence, criterion, pair, attempt=number // (2 * len(CRITERIA)))
            votes.append(vote)
            ahead += (vote.better == second.source) - (vote.better == first.source)
        return Choice(second if ahead > 0 else first, tuple(votes))

    def _ask(
        self, question: Question, evidence: Evidence, criterion: Criterion, pair: tuple[Draft, Draft], attempt: int
    ) -> Vote:
        from convrag_drafts.reply_forms import Choice as ChoiceReply

        one, other = pair
        prompt = self.template.render(
            self.sampling,
            **describe_question(question),
            evidence=list_passages(evidence),
            criterion=criterion,
            first=one.text,
            second=other.text,
        )
        try:
            reply = ask_json(self.llm, replace(prompt, attempt=2 * attempt), ChoiceReply)
        except LLMError as error:
            return Vote(criterion, one.source, None, str(error))
        better: dict[str, Source | Literal["tie"]] = {"A": one.source, "B": other.source, "tie": "tie"}
        return Vote(criterion, one.source, better[reply.better])
