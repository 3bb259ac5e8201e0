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
    """A search in steps, of which a language model reads the first passages.

    Args:
        llm: a language model; `search=agent` wants one whose server has function calling.
        steps: the most searches of a turn; each costs a request (search=iterative: but for the
            first).
        seconds: that a turn may have taken where another search begins.
        passages: of each search that the model reads.
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
        """Why there is no further search, whatever the model says; empty where there may be one."""
        if len(steps) >= self.steps:
            return f"{self.steps} searches are the most"
        return f"{self.seconds:g} seconds have passed" if seconds >= self.seconds else ""

    def describe(self, steps: Sequence[SearchStep]) -> dict[str, Any]:
        """The inputs of a prompt: what was searched for, and the first passages of each search,
        each once.
        """
        found = (hit.passage for step in steps for hit in step.hits[: self.passages])
        searched = [query.text for step in steps for query in step.queries]
        return {
            "searched": searched,
            "passages": list(dict.fromkeys(each.content for each in found)),
        }


class IterativeSearch(StepwiseSearch):
    """Search, have the LLM read the passages, and search for what is missing, up to a limit.

    After each search a language model says in JSON whether the passages hold the answer, what is
    missing, and the next query. The passages of all searches alternate. The searching ends where
    the model finds enough, names no query or one that was searched for before, and at the limits; a
    reply that cannot be used ends it too, and the record says why.

    Source: IRCoT (Trivedi et al. 2023), which takes each sentence of a chain of thought as the next
    query; here the query is written as one.
    """

    wording = "missing"

    def plan(self, question: Question, steps: Sequence[SearchStep], seconds: float) -> SearchStep:
        """The rewrite's queries first; then a request to the model before each further search."""
        from convrag_search.replies import Gap

        if not steps:
            return SearchStep(question.queries)
        if limit := self.find_limit(steps, seconds):
            return SearchStep(trace={"why": limit})
        try:
            gap = self.ask(question, Gap, **self.describe(steps))
        except LLMError as error:
            return SearchStep(fallback=str(error))
        query = clean_reply(gap.query)
        if gap.enough or not query:
            return SearchStep(
                trace={"why": "enough was found" if gap.enough else "the model names no query"}
            )
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

    Before each search the model sees the conversation, the question, and what its searches have
    found. What it calls for is searched for; the passages of all searches alternate, and the
    generator answers from them. Where the model calls nothing at first, or something that is no
    search, the rewrite's queries are searched for; where it does so later, or searches for the same
    again, the searching ends. The record says so.

    Source: ReAct (Yao et al. 2023), with one tool. The server must take `tools` (OpenAI's
        protocol).
    """

    wording = "agent"
    tools = (_TOOL,)

    def plan(self, question: Question, steps: Sequence[SearchStep], seconds: float) -> SearchStep:
        """A request to the model before each search, and one that ends them."""
        if limit := self.find_limit(steps, seconds):
            return SearchStep(trace={"why": limit})
        told = {"history": format_exchanges(question.history), **self.describe(steps)}
        prompt = add_profile(
            self.template.render(self.sampling, question=question.text, **told), question.profile
        )
        instead = () if steps else question.queries
        try:
            queries = read_calls(self.llm.complete(prompt).text)
        except LLMError as error:
            return SearchStep(instead, fallback=str(error))
        if not queries and steps:
            return SearchStep(trace={"why": "the model calls for no further search"})
        return SearchStep(
            queries or instead, fallback="" if queries else "the model called for no search"
        )


def read_calls(reply: str) -> tuple[Query, ...]:
    """The queries that a reply calls the search tool with, see `convrag.Completion`; none where it
    is a text.

    Raises LLMError for calls of other tools, and for arguments without a query.
    """
    try:
        calls = json.loads(reply)
        asked = [(call["name"], call["arguments"]) for call in calls]
    except (ValueError, TypeError, KeyError):
        return ()
    queries = []
    for name, arguments in asked:
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
