"""The two drafts of an answer: one from the evidence spans alone, one from the whole passages."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from convrag import LLM, Evidence, LLMError, PromptTemplate, Question
from convrag.sdk.citations import CitationMark, check_citations, find_citations, find_cited_statements
from convrag.sdk.prompts import add_profile
from convrag.sdk.structured_output import ask_json
from convrag.sdk.types import Support
from convrag_drafts.evidence_spans import EvidenceSpan, describe_question, list_passages

Source = Literal["spans", "passages"]
"""What a draft was written from."""


@dataclass(frozen=True)
class Draft:
    """An answer with the numbers of passages as citations; `failure` says why there is none.

    `citations` are ids of passages. `removed` is the number of citations that named nothing that was shown.
    """

    source: Source
    text: str = ""
    citations: tuple[str, ...] = ()
    removed: int = 0
    support: tuple[Support, ...] = ()
    model: str = ""
    failure: str = ""


@dataclass
class Drafter:
    """Asks a model for a draft.

    Args:
        llm: the language model.
        from_spans: the template of the task "draft_spans".
        from_passages: the template of the task "draft_passages".
        sampling: of the calls.
    """

    llm: LLM
    from_spans: PromptTemplate
    from_passages: PromptTemplate
    sampling: dict[str, Any]

    def write_from_spans(
        self, question: Question, evidence: Evidence, spans: Sequence[EvidenceSpan], *, partial: bool
    ) -> Draft:
        """One call of the LLM, which sees the spans with numbers of their own: so it is known what it cites."""
        titles = {item.number: item.passage.title for item in evidence.items}
        shown = [
            {"number": number, "title": titles[span.passage], "text": span.text} for number, span in enumerate(spans, 1)
        ]
        reply, model, failure = self._ask(self.from_spans, question, shown, partial)
        if failure:
            return Draft("spans", failure=failure)
        by_number = dict(enumerate(spans, 1))
        checked = check_citations(reply, {number: str(number) for number in by_number})
        text = renumber_citations(checked.text, {number: span.passage for number, span in by_number.items()})
        citations = tuple(dict.fromkeys(by_number[int(number)].span.passage_id for number in checked.citations))
        support = _locate_support(checked.text, text, by_number)
        return Draft("spans", text, citations, checked.removed, support, model)

    def write_from_passages(self, question: Question, evidence: Evidence, *, partial: bool) -> Draft:
        """One call of the LLM, which sees the passages."""
        reply, model, failure = self._ask(self.from_passages, question, list_passages(evidence), partial)
        if failure:
            return Draft("passages", failure=failure)
        checked = check_citations(reply, {item.number: item.passage.id for item in evidence.items})
        return Draft("passages", checked.text, checked.citations, checked.removed, model=model)

    def _ask(
        self, template: PromptTemplate, question: Question, shown: list[dict[str, Any]], partial: bool
    ) -> tuple[str, str, str]:
        """The reply, the model, and why there is no reply."""
        prompt = template.render(self.sampling, **describe_question(question), evidence=shown, partial=partial)
        try:
            completion = self.llm.complete(add_profile(prompt, question.profile))
        except LLMError as error:
            return "", "", str(error)
        text = completion.text.strip()
        return text, completion.model, "" if any(map(str.isalnum, text)) else "the reply is empty"


def renumber_citations(text: str, numbers: Mapping[int, int]) -> str:
    """Replace the numbers in citations; one that is repeated within marks that stand together stands there once.

    With 1 -> 4, 2 -> 4 and 3 -> 7 "Tea is hot. [1][2] Milk [3, 1]." becomes "Tea is hot. [4] Milk [7, 4].".
    """
    parts: list[str] = []
    seen: set[int] = set()
    last: CitationMark | None = None
    for mark in find_citations(text):
        between = text[last.end if last else 0 : mark.start]
        if last is None or between.strip():
            seen.clear()
        new = [number for number in dict.fromkeys(numbers[each] for each in mark.numbers) if number not in seen]
        seen.update(new)
        parts += [between, f"[{', '.join(map(str, new))}]"] if new else [between.rstrip()]
        last = mark
    return "".join([*parts, text[last.end if last else 0 :]])


def _locate_support(numbered: str, text: str, spans: Mapping[int, EvidenceSpan]) -> tuple[Support, ...]:
    """Where the statements of a draft that cites spans stand in the same draft with numbers of passages."""
    found: list[Support] = []
    place = 0
    for start, end, numbers in find_cited_statements(numbered):
        statement = numbered[start:end]
        first = text.find(statement, place)
        if first < 0:
            continue
        place = first + len(statement)
        found.append(Support(first, place, tuple(dict.fromkeys(spans[number].span for number in numbers))))
    return tuple(found)


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


@dataclass
class DraftJudges:
    """Asks a model for votes until they decide.

    Args:
        llm: the language model that judges.
        template: of the task "choose".
        sampling: of the calls.
        votes: the most votes.
    """

    llm: LLM
    template: PromptTemplate
    sampling: dict[str, Any]
    votes: int

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
