"""`generator=drafts`: evidence spans, a decision whether they answer, two drafts, and a choice by judges."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Interval

from convrag import (
    LLM,
    Answer,
    ConfigError,
    Evidence,
    Generator,
    LLMError,
    PromptTemplate,
    Question,
    Report,
    TurnRecord,
)
from convrag.sdk.prompts import add_profile
from convrag_drafts.drafting import Choice, Draft, Drafter, DraftJudges
from convrag_drafts.evidence_spans import Decision, EvidenceSpan, MarkedSpans, SpanMarker, decide, describe_question

_TASKS = ("spans", "draft_spans", "draft_passages", "choose", "reply")


class DraftsGenerator(Generator):
    """Write two drafts, one from evidence spans alone and one from the whole passages, and let judges choose.

    The LLM quotes the parts of the passages that bear on the question. Each quotation is looked up in its passage; what
    is not there is dropped. The model says whether the spans answer the question, in full or
    in part; where they do not, the answer says so, and where nothing was asked, the reply is a courtesy. Two drafts
    cite passages by number. Votes compare them by support, completeness and relevance, each in both orders; the draft
    from the spans wins a tie. This is the recipe of MTRAGEval's best system (SemEval-2026 task 8), in our own prompts.

    A turn takes 5 to 7 calls with 4 votes, 3 if both drafts are the same, 1 if it is unanswerable, 2 if nothing is
    asked, and one more for each reply that cannot be read. Where a step fails, the turn goes on with what there is:
    without spans with the draft from the passages, with one draft where the other fails, without votes with the first.
    The trace says so (`failures`), and has the spans, the decision with its features, both drafts and the votes.

    Args:
        llm: marks, writes and judges.
        judge: judges in its place; None: the llm. One that did not write the drafts does not prefer its own style.
        votes: the most votes. Judging ends when the rest cannot change it.
        fuzzy: the least similarity of a quotation with its place in the passage, 0 to 1; 1 accepts exact copies only.
        unanswerable: the answer where the passages do not answer the question.
        temperature: 0 gives the likeliest replies, which suits quoting and judging; None leaves it to the llm.
        draft_temperature: of the drafts; None leaves it to the llm.
        max_tokens: the longest draft, in tokens; None leaves it to the llm.
        prompts: a folder with templates to use instead of this package's: spans.jinja, draft_spans.jinja,
            draft_passages.jinja, choose.jinja and reply.jinja, each where it is there.

    Raises:
        ConfigError: a number is out of range, or `prompts` is no folder.
        DataError: a file of `prompts` is no template.
    """

    libraries = ("pydantic",)

    def __init__(
        self,
        *,
        llm: LLM,
        judge: LLM | None = None,
        votes: Annotated[int, Ge(1)] = 4,
        fuzzy: Annotated[float, Interval(gt=0, le=1)] = 0.9,
        unanswerable: str = "The passages do not answer this question.",
        temperature: float | None = 0.0,
        draft_temperature: float | None = 0.0,
        max_tokens: int | None = None,
        prompts: Path | None = None,
    ) -> None:
        if prompts is not None and not prompts.is_dir():
            raise ConfigError(f"generator.prompts={prompts}: there is no such folder")
        self.llm = llm
        self.unanswerable = unanswerable
        templates = {task: _read_template(task, prompts) for task in _TASKS}
        self.prompt_templates = tuple(templates.values())
        sampling = {"temperature": temperature}
        drafting = {"temperature": draft_temperature, "max_tokens": max_tokens}
        self.reply_template, self.reply_sampling = templates["reply"], drafting
        self.marker = SpanMarker(llm, templates["spans"], sampling, fuzzy)
        self.drafter = Drafter(llm, templates["draft_spans"], templates["draft_passages"], drafting)
        self.judges = DraftJudges(judge or llm, templates["choose"], sampling, votes)

    def report(self, records: Iterable[TurnRecord]) -> Report | None:
        """What was decided, which drafts were chosen, and what failed."""
        return report_outcomes(records)

    def generate(self, question: Question, evidence: Evidence) -> Answer:
        """Run all steps. Raises LLMError where there is neither draft, or no reply where nothing was asked."""
        query = question.standalone or question.text
        marked = self.marker.mark(question, evidence)
        decision = decide(query, evidence, marked)
        trace = _begin_trace(query, marked, decision)
        if decision.answerability == "conversational":
            return Answer(self._reply(question), (), trace)
        if decision.answerability == "unanswerable":
            return Answer(self.unanswerable, (), trace)
        drafts = self._write(question, evidence, marked.spans, decision)
        trace["failures"] |= {f"draft from {draft.source}": draft.failure for draft in drafts if draft.failure}
        choice = self._choose(question, evidence, [draft for draft in drafts if not draft.failure], trace["failures"])
        chosen = choice.draft
        trace |= {
            "drafts": [_describe_draft(draft, chosen) for draft in drafts],
            "votes": choice.trace(),
            "citations_removed": chosen.removed,
            "model": chosen.model,
        }
        trace["failures"] |= {f"vote {n}": vote.failure for n, vote in enumerate(choice.votes, 1) if vote.failure}
        return Answer(chosen.text, chosen.citations, trace, chosen.support)

    def _write(
        self, question: Question, evidence: Evidence, spans: tuple[EvidenceSpan, ...], decision: Decision
    ) -> list[Draft]:
        """The draft from the spans, where there are any, and that from the passages."""
        partial = decision.answerability == "partial"
        drafts = [self.drafter.write_from_spans(question, evidence, spans, partial=partial)] if spans else []
        return [*drafts, self.drafter.write_from_passages(question, evidence, partial=partial)]

    def _choose(self, question: Question, evidence: Evidence, drafts: list[Draft], failures: dict[str, str]) -> Choice:
        if not drafts:
            raise LLMError(f"there is no draft: {'; '.join(f'{name}: {why}' for name, why in failures.items())}")
        if len(drafts) == 1:
            return Choice(drafts[0])
        return self.judges.choose(question, evidence, drafts[0], drafts[1])

    def _reply(self, question: Question) -> str:
        """A courtesy. Raises LLMError."""
        prompt = self.reply_template.render(self.reply_sampling, **describe_question(question))
        return self.llm.complete(add_profile(prompt, question.profile)).text.strip()


def _read_template(task: str, folder: Path | None) -> PromptTemplate:
    path = folder / f"{task}.jinja" if folder else None
    return PromptTemplate(task, package="convrag_drafts", path=path if path and path.is_file() else None)


def _begin_trace(query: str, marked: MarkedSpans, decision: Decision) -> dict[str, Any]:
    outcomes = {"answerable": "answered", "unknown": "answered"}
    return {
        "outcome": outcomes.get(decision.answerability, decision.answerability),
        "query": query,
        "spans": [
            {"passage": span.passage, "start": span.span.start, "end": span.span.end, "text": span.text}
            for span in marked.spans
        ],
        "spans_dropped": marked.dropped,
        "answerability": {"decision": decision.answerability, **decision.features},
        "failures": {"spans": marked.failure} if marked.failure else {},
    }


def _describe_draft(draft: Draft, chosen: Draft) -> dict[str, Any]:
    state = {"failure": draft.failure} if draft.failure else {"text": draft.text, "chosen": draft is chosen}
    return {"from": draft.source, **state}


TITLE = "drafts"


def report_outcomes(records: Iterable[TurnRecord]) -> Report | None:
    """Count decisions, spans, drafts, votes and failures; None where this generator answered no turn."""
    counts: Counter[str] = Counter()
    names = ("answerable", "partial", "unanswerable", "conversational", "unknown")
    for record in records:
        trace = record.trace.get("generator", {})
        if "answerability" not in trace:
            continue
        counts[str(trace["answerability"]["decision"])] += 1
        counts["spans"] += len(trace["spans"])
        counts["spans_dropped"] += trace["spans_dropped"]
        counts["votes"] += len(trace.get("votes", ()))
        counts["failures"] += len(trace["failures"])
        for draft in trace.get("drafts", ()):
            counts[f"from_{draft['from']}"] += bool(draft.get("chosen"))
    numbers = {
        name: counts[name]
        for name in (*names, "spans", "spans_dropped", "votes", "from_spans", "from_passages", "failures")
    }
    if not any(counts[name] for name in names):
        return None
    decided = ", ".join(f"{counts[name]} {name}" for name in names if counts[name])
    line = (
        f"{decided}; {counts['spans']} spans, {counts['spans_dropped']} quotations dropped; {counts['from_spans']} "
        f"answers are the draft from the spans, {counts['from_passages']} that from the passages, by "
        f"{counts['votes']} votes; {counts['failures']} steps failed"
    )
    return Report(TITLE, (line,), numbers)
