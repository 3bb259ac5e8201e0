"""A language model of OpenAI's protocol with a delay for each reply.

Run `python delayed_llm.py 0.1`.

It prints its port. Requests are answered side by side, with hardly any work: replies are made once.
"""

import asyncio
import json
import sys
from typing import Any

TEXT = "A dog."
_HEAD = {"id": "1", "created": 1, "model": "m"}
_USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


def make_reply() -> bytes:
    """The reply to a request that is not streamed."""
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": TEXT},
    }
    body = {**_HEAD, "object": "chat.completion", "choices": [choice], "usage": _USAGE}
    return _respond("application/json", json.dumps(body).encode())


def make_stream() -> bytes:
    """The reply to a streamed one: the text, its end, the usage."""
    text = {"index": 0, "delta": {"role": "assistant", "content": TEXT}, "finish_reason": None}
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    chunks: list[dict[str, Any]] = [
        {"choices": [text]},
        {"choices": [end]},
        {"choices": [], "usage": _USAGE},
    ]
    events = [json.dumps({**_HEAD, "object": "chat.completion.chunk", **chunk}) for chunk in chunks]
    return _respond(
        "text/event-stream", "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"]).encode()
    )


def _respond(kind: str, body: bytes) -> bytes:
    return (
        f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n".encode()
        + body
    )


async def serve(seconds: float) -> None:
    """Answer until the process is ended."""
    whole, streamed = make_reply(), make_stream()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
                length = next(
                    int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length")
                )
                asked = json.loads(await reader.readexactly(length))
                await asyncio.sleep(seconds)
                writer.write(streamed if asked.get("stream") else whole)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
