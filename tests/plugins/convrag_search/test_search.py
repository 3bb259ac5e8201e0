"""`search=never_needed`, `decompose`, `iterative` and `agent`: no search, or several, in turns of a
pipeline.
"""

import json
from typing import Any

import pytest

from convrag import LLMError, Query, Question, SearchStep
from convrag.api.passages import Hit
from convrag.testing import RecordedLLM, SearchContract
from convrag.testing.samples import conversation, make_hits, question
from convrag_basics.once import OnceSearch
from convrag_search.needed import NeverNeededSearch
from convrag_search.parts import DecomposeSearch
from convrag_search.steps import AgentSearch, IterativeSearch
from llm_client import every_option, make_client
from llm_server import Server, make_reply
from toys import Says, pipeline


def call(*queries: str, name: str = "search") -> str:
    return json.dumps(
        [{"name": name, "arguments": json.dumps({"query": query})} for query in queries]
    )


def gap(query: str, **more: Any) -> str:
    return json.dumps({"enough": False, "missing": "its age", "query": query, **more})


class Rules(Says):
    tasks = frozenset({"answer"})


class TestOnce(SearchContract):
    def make(self) -> OnceSearch:
        return OnceSearch()


class TestNeverNeeded(SearchContract):
    def make(self) -> NeverNeededSearch:
        return NeverNeededSearch(
            llm=RecordedLLM(replies={"copper": '{"search": false}', "": '{"search": true}'})
        )


class TestDecompose(SearchContract):
    def make(self) -> DecomposeSearch:
        return DecomposeSearch(
            llm=RecordedLLM(replies={"": '{"parts": ["What is tea?", "What is copper?"]}'})
        )


class TestIterative(SearchContract):
    def make(self) -> IterativeSearch:
        return IterativeSearch(llm=RecordedLLM(replies={"": gap("How old is the Moon?")}))


class TestAgent(SearchContract):
    def make(self) -> AgentSearch:
        return AgentSearch(llm=RecordedLLM(replies={"": call("How old is the Moon?")}))


def search_for(
    search: Any, text: str = "Is copper better?", *, turns: int = 2
) -> tuple[list[str], SearchStep, list[Hit]]:
    """All queries of a turn's searches, the step that ended them, and the passages."""
    asked = question(text, turns)
    asked = Question(
        text, history=asked.history, standalone=text, queries=(Query(text), Query("kettle", 0.5))
    )
    steps: list[SearchStep] = []
    while (step := search.plan(asked, steps, 1.0)).queries:
        hits = tuple(Hit(hit.passage, hit.score) for hit in make_hits(len(steps)))
        steps.append(SearchStep(step.queries, step.trace, step.fallback, hits))
    return (
        [query.text for each in steps for query in each.queries],
        step,
        search.join(asked, steps, 3),
    )


def test_what_needs_no_search_rests_on_what_the_last_answer_cites() -> None:
    needless = Says('{"search": false, "why": "nothing new is asked"}')
    queries, step, hits = search_for(NeverNeededSearch(llm=needless), "Make it shorter, please.")
    assert queries == []
    assert step.trace == {"why": "nothing new is asked"}
    assert [hit.passage for hit in hits] == list(conversation().turns[1].passages)


@pytest.mark.parametrize("text", ["Thanks a lot!", "Make it shorter, please."])
def test_without_a_model_every_search_is_made(text: str) -> None:
    assert search_for(NeverNeededSearch(llm=Rules()), text)[0] == [text, "kettle"]


def test_a_model_decides_what_is_searched_for() -> None:
    needless = Says('{"search": false, "why": "he thinks aloud"}')
    assert search_for(NeverNeededSearch(llm=needless), "Hm, so be it.")[1].trace == {
        "why": "he thinks aloud"
    }
    for text, turns in (
        ("Tell me more about it.", 2),
        ("Make it shorter.", 0),
    ):  # nothing can be made shorter yet
        assert search_for(NeverNeededSearch(llm=Says('{"search": true}')), text, turns=turns)[
            0
        ] == [text, "kettle"]
    asked = Question("And Ann?", history=conversation().turns, queries=(Query("And Ann?"),))
    step = NeverNeededSearch(llm=Says("No idea.")).plan(asked, [], 0)
    assert step.queries == asked.queries
    assert "cannot be read" in step.fallback


def test_parts_are_searched_for_one_by_one_and_alternate() -> None:
    model = Says(
        json.dumps(
            {"parts": ["How old is Ann?", "How old is Ben?", "How old is Ann?", "Who is Cy?"]}
        )
    )
    queries, _, hits = search_for(DecomposeSearch(llm=model, parts=2), "How old are Ann and Ben?")
    assert queries == ["How old is Ann?", "How old is Ben?"]
    assert [hit.passage.id for hit in hits] == [
        "tea-1",
        "tea-2",
        "tea-3",
    ]  # the best of each, then the second best
    assert [hit.score for hit in hits] == [1, 1 / 2, 1 / 3]
    assert search_for(DecomposeSearch(llm=Says('{"parts": ["one"]}')))[0] == [
        "Is copper better?",
        "kettle",
    ]
    failed = DecomposeSearch(llm=Says(LLMError("no reply"))).plan(question(), [], 0)
    assert failed.fallback == "no reply"


def test_without_a_model_a_question_is_cut_after_question_marks() -> None:
    """The rewriter's other queries are kept."""
    queries, _, _ = search_for(DecomposeSearch(llm=Rules()), "How tall is it? 谁建的？ And when?")
    assert queries == ["How tall is it?", "kettle", "谁建的？", "kettle", "And when?", "kettle"]
    whole = "How tall is it, and who built it?"
    assert search_for(DecomposeSearch(llm=Rules()), whole)[0] == [whole, "kettle"]


def test_a_model_searches_for_what_is_missing_until_it_has_enough() -> None:
    model = Says(gap("When was the tower built?"), gap("", enough=True))
    queries, step, _ = search_for(IterativeSearch(llm=model))
    assert queries == ["Is copper better?", "kettle", "When was the tower built?"]
    assert step.trace == {"why": "enough was found"}
    first, second = (prompt.messages[-1].content for prompt in model.prompts)
    assert "steam is forced" in first  # what was found, and what was said before
    assert "User: Why does a kettle whistle?" in first
    assert "- When was the tower built?" in second


@pytest.mark.parametrize(
    ("replies", "parameters", "searches", "why"),
    [
        (
            [gap("a 1"), gap("a 2"), gap("a 3"), gap("a 4")],
            {"steps": 3},
            3,
            "3 searches are the most",
        ),
        ([gap("a 1")], {"seconds": 0.5}, 1, "0.5 seconds have passed"),
        ([gap("")], {}, 1, "the model names no query"),
    ],
)
def test_searching_ends(
    replies: list[str], parameters: dict[str, Any], searches: int, why: str
) -> None:
    queries, step, _ = search_for(IterativeSearch(llm=Says(*replies), **parameters))
    assert len(queries) == searches + 1  # the rewrite has two
    assert step.trace == {"why": why}


def test_an_agent_calls_the_tool_until_it_calls_none() -> None:
    model = Says(call("Who is Ann?", "Where does Ann live?"), call("Ann's street"), "done")
    queries, step, _ = search_for(AgentSearch(llm=model))
    assert queries == ["Who is Ann?", "Where does Ann live?", "Ann's street"]
    assert step == SearchStep(trace={"why": "the model calls for no further search"})
    assert model.prompts[0].sampling["tools"][0]["function"]["name"] == "search"
    assert "- Where does Ann live?" in model.prompts[1].messages[-1].content


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("I know it.", "the model called for no search"),
        ("[1, 2]", "the model called for no search"),
        (call("x", name="rm"), "only search can be called"),
        ('[{"name": "search", "arguments": "tea"}]', "only search can be called, with a query"),
        (call(" "), "with a query"),
        (LLMError("tools are not supported"), "tools are not supported"),
    ],
)
def test_an_agent_that_calls_nonsense_searches_for_what_the_rewriter_says(
    reply: Any, reason: str
) -> None:
    asked = Question("Is copper better?", queries=(Query("copper"),))
    step = AgentSearch(llm=Says(reply)).plan(asked, [], 0)
    assert step.queries == asked.queries
    assert reason in step.fallback
    later = AgentSearch(llm=Says(reply)).plan(asked, [SearchStep(asked.queries)], 0)
    assert not later.queries
    assert later.fallback or later.trace["why"]


@every_option
def test_a_servers_calls_of_tools_arrive_as_json(server: Server) -> None:
    body = make_reply(None, "tool_calls")
    function = {"name": "search", "arguments": '{"query": "How old is Ann?"}'}
    body["choices"][0]["message"]["tool_calls"] = [
        {"id": "c1", "type": "function", "function": function}
    ]
    server.plan_replies(body, make_reply("done"))
    asked = Question("How old is she?", queries=(Query("How old is she?"),))
    agent = AgentSearch(llm=make_client(server))
    step = agent.plan(asked, [], 0)
    assert step == SearchStep((Query("How old is Ann?"),))
    assert not agent.plan(asked, [step], 0).queries
    assert server.requests[0]["tools"][0]["function"]["parameters"]["required"] == ["query"]


def test_a_turn_with_several_searches_is_one_record() -> None:
    model = Says(gap("ALPHA"), gap("BETA"), gap("ALPHA"))
    record = pipeline(search=IterativeSearch(llm=model, steps=9)).turn("c", "what?")
    assert [query.text for query in record.queries] == ["WHAT?", "ALPHA", "BETA"]
    assert [step["queries"] for step in record.trace["search"]["steps"]] == [
        ["WHAT?"],
        ["ALPHA"],
        ["BETA"],
    ]
    assert record.trace["search"]["steps"][1]["missing"] == "its age"
    assert record.trace["search"]["why"] == "it was searched for before"
    assert list(record.timings)[1:3] == ["search", "retriever"]
    assert not record.error


def test_planning_that_fails_leaves_one_search_and_a_query_that_was_typed_is_the_only_one() -> None:
    broken = IterativeSearch(llm=Says(ValueError("broken")))
    record = pipeline(search=broken).turn("c", "what?")
    assert "ValueError: broken" in record.fallbacks["search"]
    assert len(record.hits) == 3
    typed = pipeline(search=broken).turn("c", "what?", query="mine")
    assert [query.text for query in typed.queries] == ["mine"]
    assert "search" not in typed.trace
