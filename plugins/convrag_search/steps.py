"""`search=iterative` and `search=agent`: a language model reads the passages and searches on."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt

from convrag import LLMError, Query, Question, Search, SearchStep
from convrag.sdk.llm.json_stage import JsonStage
from convrag.sdk.llm.prompts import add_profile
from convrag.sdk.llm.rewriter import clean_reply, format_exchanges


@dataclass(kw_only=True, eq=False)
class StepwiseSearch(JsonStage, Search):
    """A search in steps: a language model reads the first passages of each.

    Args:
        llm: a language model; `search=agent` needs one whose server has function calling.
        steps: the most searches of a turn; each costs a request (but not the first one of
            search=iterative).
        seconds: no further search begins after this time in a turn.
        passages: the passages of each search that the model reads.
        prompt: a Jinja file to use instead of this package's missing.jinja or agent.jinja; it is
            given `question`, `history` (a list of `user` and `assistant`, oldest first), `searched`
            (queries) and `passages` (texts).
    """

    without = "search=once"
    tools: ClassVar[Sequence[Mapping[str, Any]] | None] = None
    """Tools that the model may call."""

    steps: Annotated[int, Ge(1)] = 3
    seconds: Annotated[float, Gt(0)] = 60.0
    passages: Annotated[int, Ge(1)] = 5
    max_tokens: Annotated[int | None, Ge(1)] = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sampling["tools"] = self.tools

    def find_limit(self, steps: Sequence[SearchStep], seconds: float) -> str:
        """Say which limit forbids a further search; empty where none does."""
        if len(steps) >= self.steps:
            return f"{self.steps} searches are the most"
        if seconds >= self.seconds:
            return f"{self.seconds:g} seconds have passed"
        return ""

    def describe(self, steps: Sequence[SearchStep]) -> dict[str, Any]:
        """Make the inputs of a prompt: the queries, and the first passages of each search once."""
        searched = [query.text for step in steps for query in step.queries]
        passages: dict[str, None] = {}
        for step in steps:
            for hit in step.hits[: self.passages]:
                passages[hit.passage.content] = None
        return {"searched": searched, "passages": list(passages)}


class IterativeSearch(StepwiseSearch):
    """Search, have the LLM read the passages, and search for what is missing, up to a limit.

    After each search a language model says in JSON whether the passages have the answer, what is
    missing, and the next query. The passages of all searches alternate. The search ends where the
    model finds enough, names no query or an earlier one, and at the limits; a reply that cannot be
    used ends it too, and the record says why.

    Source: IRCoT (Trivedi et al. 2023), which takes each sentence of a chain of thought as the next
    query; here the query is written as one.
    """

    wording = "missing"

    def plan(self, question: Question, steps: Sequence[SearchStep], seconds: float) -> SearchStep:
        """Plan the rewrite's queries first; then ask the model before each further search."""
        from convrag_search.replies import Gap

        if not steps:
            return SearchStep(question.queries)
        limit = self.find_limit(steps, seconds)
        if limit:
            return SearchStep(trace={"why": limit})
        try:
            gap = self.ask(question, Gap, **self.describe(steps))
        except LLMError as error:
            return SearchStep(fallback=str(error))
        if gap.enough:
            return SearchStep(trace={"why": "enough was found"})
        query = clean_reply(gap.query)
        if not query:
            return SearchStep(trace={"why": "the model names no query"})
        return SearchStep((Query(query),), {"missing": gap.missing})


_TOOL = {
    "type": "function",
    "function": {
        "name": "search",
        "description": "Searches the documents, and returns the passages that fit a query best.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "What to search for: a question, or words.",
                }
            },
            "required": ["query"],
        },
    },
}


class AgentSearch(StepwiseSearch):
    """Let the model search: it calls a search tool by function calling, until it calls none.

    Before each search the model sees the conversation, the question, and the passages found so far.
    The passages of all searches alternate, and the generator answers from them. Where the model
    first calls nothing, or something else than a search, the rewrite's queries are searched for;
    where it does so later, or repeats a search, the search ends. The record says so.

    Source: ReAct (Yao et al. 2023), with one tool. The server must take `tools` (OpenAI's
        protocol).
    """

    wording = "agent"
    tools = (_TOOL,)

    def plan(self, question: Question, steps: Sequence[SearchStep], seconds: float) -> SearchStep:
        """Ask the model before each search; it ends them by calling none."""
        limit = self.find_limit(steps, seconds)
        if limit:
            return SearchStep(trace={"why": limit})
        prompt = self.template.render(
            self.sampling,
            question=question.text,
            history=format_exchanges(question.history),
            **self.describe(steps),
        )
        prompt = add_profile(prompt, question.profile)
        fallback_queries = () if steps else question.queries
        try:
            queries = read_calls(self.llm.complete(prompt).text)
        except LLMError as error:
            return SearchStep(fallback_queries, fallback=str(error))
        if queries:
            return SearchStep(queries)
        if steps:
            return SearchStep(trace={"why": "the model calls for no further search"})
        return SearchStep(fallback_queries, fallback="the model called for no search")


def read_calls(reply: str) -> tuple[Query, ...]:
    """Read the queries of a reply's calls of the search tool; none where the reply is a text.

    `convrag.Completion` describes the form of calls.

    Raises:
        LLMError: another tool is called, or the arguments have no query.
    """
    try:
        calls = [(call["name"], call["arguments"]) for call in json.loads(reply)]
    except (ValueError, TypeError, KeyError):
        return ()
    queries = []
    for name, arguments in calls:
        try:
            text = str(json.loads(arguments)["query"]).strip()
        except (ValueError, TypeError, KeyError):
            text = ""
        if name != "search" or not text:
            raise LLMError(
                f"the model called {name} with {arguments!r:.100}: "
                "only search can be called, with a query"
            )
        queries.append(Query(text))
    return tuple(queries)
