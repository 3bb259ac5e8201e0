"""`search=tagged`: a model searches in tags while it thinks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from annotated_types import Ge, Gt

from convrag import LLMError, Prompt, Query, Question, Search, SearchStep
from convrag.sdk.llm.json_stage import JsonStage
from convrag.sdk.llm.prompts import add_complaint, add_profile
from convrag.sdk.llm.rewriter import format_exchanges
from convrag.sdk.llm.sampling import MaxTokens
from convrag_tagged.tags import TagPair, is_cut, protect_tags
from convrag_tagged.transcript import Action, SearchFormat, join_messages, list_messages

_CONTINUED = {"continue_final_message": True, "add_generation_prompt": False}
"""The parameters by which vLLM and SGLang let a model continue its own message."""


@dataclass(kw_only=True, eq=False)
class TaggedSearch(JsonStage, Search):
    """Let a model search in tags while it thinks (Search-R1, R1-Searcher, Search-o1, any LLM).

    The model thinks, and writes a query in tags; what is found is added in tags, and it goes on,
    until it answers. The closing tags are sent to the server as stop strings. Where it stops there,
    or the model writes on as if it had found something, the query counts and nothing after it. The
    passages of all searches alternate, and the run's generator answers from them; the record has
    the model's own answer (`trace.search.answer`). A reply that is neither a query nor an answer is
    asked for once more. Where the model answers without a search, or fails before the first one,
    the rewrite's queries are searched for; where it fails later, the search ends. The record says
    so.

    Source: Jin et al. 2025, "Search-R1"; Song et al. 2025, "R1-Searcher"; Li et al. 2025,
    "Search-o1". The words of the prompt are ours.

    Args:
        llm: a language model.
        query: the tags of a query, with three dots between them.
        information: the tags of what was found.
        answer: the tags of the answer; empty where a reply without a query is one.
        thoughts: the tags of thoughts.
        inside_thoughts: whether the model searches inside of its thoughts, which are then read
            before its text.
        hint: a sentence of the prompt that says how queries are written.
        passage: the form of a passage, with {number}, {title} and {text}.
        passages: the passages of each search that the model reads.
        continuation: how the model is asked to go on: "turns" sends what was found as a message of
            the user, which every server takes; "prefill" sends it as part of the model's own
            message, as it was trained (vLLM, SGLang).
        steps: the most searches of a turn; each costs a request.
        seconds: no further search begins after this time in a turn.
        prompt: a Jinja file to use instead of this package's search.jinja; it is given `question`,
            `history` (a list of `user` and `assistant`, oldest first), `steps`, `hint`, and
            `query_tags`, `information_tags`, `answer_tags` and `thought_tags` (each with `opening`
            and `closing`; `answer_tags` may be None).
        temperature: 0 gives the likeliest reply; None leaves it to the llm.
        max_tokens: the longest reply, in tokens, with its thoughts; None leaves it to the llm.

    Raises:
        ConfigError: tags are not two with three dots between them, or a passage has other fields.
        DataError: the prompt's file is missing or is no template.
    """

    without = "search=once"
    wording = "search"
    prompt_task = "tagged_search"

    query: str = "<search>...</search>"
    information: str = "<information>...</information>"
    answer: str = "<answer>...</answer>"
    thoughts: str = "<think>...</think>"
    inside_thoughts: bool = False
    hint: str = ""
    passage: str = "Doc {number}(Title: {title}) {text}"
    passages: Annotated[int, Ge(1)] = 3
    continuation: Literal["turns", "prefill"] = "turns"
    steps: Annotated[int, Ge(1)] = 4
    seconds: Annotated[float, Gt(0)] = 60.0
    max_tokens: MaxTokens | None = 1024

    def __post_init__(self) -> None:
        super().__post_init__()
        self.form = SearchFormat(
            query=TagPair.parse(self.query, "search.query"),
            information=TagPair.parse(self.information, "search.information"),
            answer=TagPair.parse(self.answer, "search.answer") if self.answer else None,
            thoughts=TagPair.parse(self.thoughts, "search.thoughts"),
            inside_thoughts=self.inside_thoughts,
            passage=self.passage,
            passages=self.passages,
        )
        self.sampling["stop"] = self.form.stops

    def plan(self, question: Question, steps: Sequence[SearchStep], seconds: float) -> SearchStep:
        """Ask the model before each search; it ends them by answering."""
        limit = self._find_limit(steps, seconds)
        if limit:
            return SearchStep(trace={"why": limit})
        fallback_queries = () if steps else question.queries
        try:
            action = self._ask(self._make_prompt(question, steps))
        except LLMError as error:
            return SearchStep(fallback_queries, fallback=str(error))
        if action.kind == "search":
            return SearchStep((Query(action.text),), {"reply": action.written})
        if steps:
            return SearchStep(trace={"why": "the model answers", "answer": action.text})
        reason = "the model answered without a search"
        return SearchStep(fallback_queries, {"answer": action.text}, fallback=reason)

    def _find_limit(self, steps: Sequence[SearchStep], seconds: float) -> str:
        """Say which limit forbids a further search; empty where none does."""
        if len(steps) >= self.steps:
            return f"{self.steps} searches are the most"
        if seconds >= self.seconds:
            return f"{self.seconds:g} seconds have passed"
        return ""

    def _make_prompt(self, question: Question, steps: Sequence[SearchStep]) -> Prompt:
        """Make the prompt: the task, and the searches so far."""
        form = self.form
        prompt = self.template.render(
            self.sampling,
            question=question.text,
            history=format_exchanges(question.history),
            steps=self.steps,
            hint=self.hint,
            query_tags=form.query.describe(),
            information_tags=form.information.describe(),
            answer_tags=form.answer.describe() if form.answer else None,
            thought_tags=form.thoughts.describe(),
        )
        prompt = add_profile(replace(prompt, reads_thoughts=True), question.profile)
        messages = list_messages(form, steps)
        sampling = dict(prompt.sampling)
        if self.continuation == "prefill" and messages:
            messages = join_messages(messages)
            sampling |= _CONTINUED
        return replace(prompt, messages=(*prompt.messages, *messages), sampling=sampling)

    def _ask(self, prompt: Prompt) -> Action:
        """Ask for a query or an answer, and once more where the reply is neither.

        Raises:
            LLMError: there is no reply, or none that can be read.
        """
        completion = self.llm.complete(prompt)
        action = self.form.read(completion)
        if action is None and not is_cut(completion):
            completion = self.llm.complete(self._complain(prompt, self.form.write(completion)))
            action = self.form.read(completion)
        if action is not None:
            return action
        if is_cut(completion):
            raise LLMError(
                "the reply was cut at max_tokens before its query: raise search.max_tokens"
            )
        reply = protect_tags(completion.text or completion.reasoning, [self.form.thoughts])
        wanted = " nor ".join(pair.opening for pair in self.form.actions)
        raise LLMError(f"the reply has neither a query nor an answer ({wanted}): {reply!r:.100}")

    def _complain(self, prompt: Prompt, reply: str) -> Prompt:
        """Make the prompt that asks once more."""
        query = self.form.query.describe()
        complaint = f"To search, write {query['opening']} query {query['closing']}."
        if self.form.answer:
            answer = self.form.answer.describe()
            complaint += f" To answer, write {answer['opening']} answer {answer['closing']}."
        else:
            complaint += " To answer, write the answer."
        again = add_complaint(prompt, reply, f"That was neither a query nor an answer. {complaint}")
        sampling = {name: again.sampling[name] for name in again.sampling if name not in _CONTINUED}
        return replace(again, sampling=sampling)
