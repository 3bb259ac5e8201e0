"""The three tools of the Model Context Protocol, asked by the official client: in memory, over HTTP
and over pipes.
"""

import asyncio
import json
import os
import re
import sys

import pytest

from convrag import Conversations, Passage, Pipeline
from convrag.testing import TaskContract
from convrag_mcp.task import McpTask
from convrag_web.server.guard import Access
from convrag_web.server.task import ServeTask
from served import serve

mcp = pytest.importorskip("mcp", reason="needs the extra mcp")
QUESTION = "Why do we always see the same side of the Moon?"


class TestContract(TaskContract):
    def make(self) -> McpTask:
        return McpTask()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of the tools over two pipelines of the sample, and their conversations."""
    from convrag_mcp.task import take_turn
    from convrag_mcp.tools import make_server

    folder = tmp_path_factory.mktemp("mcp")
    kept = Conversations(folder / "conversations.db")
    chosen = {"whole": "all_questions", "bare": "none"}
    kept.open("page", "default", model="bare")
    pipelines = {
        name: Pipeline.compose(
            f"store.path={folder / 'store'}", f"rewriter={rewriter}", conversations=kept
        )
        for name, rewriter in chosen.items()
    }
    return make_server(pipelines, None, take_turn), kept


async def call(client, tool, **arguments):
    """Call a tool, and return what it gives as data; its error as a text."""
    result = await client.call_tool(tool, arguments)
    return result.content[0].text if result.is_error else result.structured_content


async def use_all_tools(client):
    """Search, ask, follow up and rewrite; the id of the conversation."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {"search", "ask", "rewrite"}
    assert tools["search"].annotations.read_only_hint
    assert tools["ask"].input_schema["required"] == ["question"]
    found = await call(client, "search", question=QUESTION, top_k=2)
    assert [each["number"] for each in found["passages"]] == [1, 2]
    assert found["queries"] == [QUESTION]
    first = await call(client, "ask", question=QUESTION)
    assert {int(number) for number in re.findall(r"\[(\d+)\]", first["answer"])} == {
        each["number"] for each in first["citations"]
    }
    follow = {"question": "How far away is it?", "conversation": first["conversation"]}
    assert QUESTION in " ".join((await call(client, "rewrite", **follow))["result"])
    second = await call(client, "ask", **follow)
    assert second["conversation"] == first["conversation"]
    assert QUESTION in " ".join((await call(client, "search", **follow))["queries"])
    return first["conversation"]


def test_the_tools(server):
    async def talk():
        async with mcp.Client(server[0]) as client:
            id = await use_all_tools(client)
            assert (await call(client, "rewrite", question="And it?", conversation="page"))[
                "result"
            ] == ["And it?"]
            assert "there is no conversation 'x'" in await call(
                client, "ask", question="Why?", conversation="x"
            )
            assert "Choose from: default" in await call(
                client, "search", question="Why?", domain="sun"
            )
            assert "at least 1 character" in await call(client, "ask", question="")
            return id

    kept = {asyncio.run(talk()), "page"}
    assert {
        each.id for each in server[1].list()
    } == kept  # what was searched for or rewritten alone leaves none


def test_passages_are_filtered_by_their_fields(tmp_path):
    from convrag_mcp.task import take_turn
    from convrag_mcp.tools import make_server

    manuals = [
        Passage("k1", "The kettle stops.", metadata={"fields": {"product": "kettle"}}),
        Passage("p1", "The pot stops leaking.", metadata={"fields": {"product": "pot"}}),
    ]
    pipeline = Pipeline.over(
        manuals,
        "llm=extractive",
        "retriever=bm25",
        "rewriter=none",
        f"store.path={tmp_path / 'store'}",
        conversations=Conversations(tmp_path / "conversations.db"),
    )

    async def talk():
        async with mcp.Client(make_server({"manuals": pipeline}, None, take_turn)) as client:
            asked = {"question": "How does it stop?", "filter": "product=pot"}
            found = await call(client, "search", **asked)
            assert [passage["id"] for passage in found["passages"]] == ["p1"]
            answer = await call(client, "ask", **asked)
            assert "kettle" not in answer["answer"]
            wrong = await call(client, "ask", **{**asked, "filter": "color=red"})
            assert "color" in wrong
            assert "product" in wrong

    asyncio.run(talk())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_server_has_the_tools_for_those_with_its_token(tmp_path, mode):
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    async def talk(address):
        async with (
            create_mcp_http_client({"Authorization": "Bearer secret"}) as http,
            mcp.Client(streamable_http_client(address, http_client=http), mode=mode) as client,
        ):
            return await use_all_tools(client)

    access = Access("secret", hosts=["127.0.0.1"])
    with serve(tmp_path, "rewriter=all_questions", access=access, live=True) as running:
        id = asyncio.run(talk(f"{running.address}/mcp"))
        assert running.http.post("/mcp", json={}).status_code == 401
        running.http.headers["Authorization"] = "Bearer secret"
        assert (
            running.http.post(
                "/mcp", json={}, headers={"Origin": "https://evil.example"}
            ).status_code
            == 403
        )
        assert [
            each["id"] for each in running.http.get("/api/conversations").json()["conversations"]
        ] == [id]
        assert (
            'convrag_turns_total{model="convrag",outcome="answered"} 5.0'
            in running.http.get("/metrics").text
        )


def call_over_http(server, tool, arguments):
    """Call a tool by a request that this test writes itself; its text, and whether it failed."""
    params = {"name": tool, "arguments": arguments}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    reply = server.http.post("/mcp", content=body, headers=headers)
    assert reply.status_code == 200, reply.text
    result = reply.json()["result"]
    return result["content"][0]["text"], result["isError"]


@pytest.mark.parametrize("tool", ["ask", "search", "rewrite"])
def test_texts_over_http_are_bounded_and_mended(tmp_path, tool):
    limits = ServeTask(max_characters=1000)
    with serve(tmp_path, "rewriter=none", limits=limits) as server:
        text, failed = call_over_http(server, tool, {"question": "moon " * 201})
        assert failed
        assert "task.max_characters" in text
        odd = "Is the moon \0 far \ud83c?"
        text, failed = call_over_http(server, tool, {"question": odd})
        assert not failed, text
        if tool == "ask":
            (info,) = server.conversations.list()
            (record,) = server.conversations.records(info.id)
            assert record.original_query == "Is the moon \ufffd far \ufffd?"
        for unusable in ({"conversation": "\0\ud83c"}, {"domain": "\0\ud83c"}):
            text, failed = call_over_http(server, tool, {"question": "moon", **unusable})
            assert failed


LOUD = """
import os
from convrag import Rewriter, Rewrite, hookimpl

print("imported")

class Loud(Rewriter):
    def prepare(self) -> None:
        os.write(1, b"prepared\\n")

    def rewrite(self, question):
        print("rewritten")
        os.write(1, b"by a library\\n")
        return Rewrite.of(" ".join([*(turn.question for turn in question.history), question.text]))

@hookimpl
def convrag_register(register):
    register("rewriter", "loud", Loud)
"""


@pytest.mark.slow
def test_the_command_speaks_the_protocol_alone(tmp_path):
    from mcp.client.stdio import StdioServerParameters, stdio_client

    (tmp_path / "loud.py").write_text(LOUD)
    arguments = [
        "-m",
        "convrag",
        "plugins=[loud.py]",
        "task=mcp",
        "rewriter=loud",
        "store.path=store",
    ]
    command = StdioServerParameters(
        command=sys.executable, args=arguments, env=dict(os.environ), cwd=tmp_path
    )
    unread = []

    async def note(message):
        if isinstance(message, Exception):  # a line that is none of the protocol
            unread.append(message)

    async def talk(errors):
        async with mcp.Client(stdio_client(command, errlog=errors), message_handler=note) as client:
            await use_all_tools(client)

    with (tmp_path / "errors").open("w") as errors:
        asyncio.run(talk(errors))
    assert unread == []
    said = (tmp_path / "errors").read_text()
    assert all(word in said for word in ("imported", "prepared", "rewritten", "by a library"))
