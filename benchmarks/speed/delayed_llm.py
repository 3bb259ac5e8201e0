"""A language model of OpenAI's protocol with a delay, in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

SERVER = """
import asyncio, json, sys
delay, places = float(sys.argv[1]), asyncio.Semaphore(int(sys.argv[2]))
message = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "A dog."}}
usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
reply = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [message], "usage": usage}
body = json.dumps(reply).encode()
def whole(kind, body):
    return b"HTTP/1.1 200 OK\\r\\ncontent-type: %s\\r\\ncontent-length: %d\\r\\n\\r\\n" % (kind, len(body)) + body
def chunk(choices, **more):
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return b"data: " + json.dumps({**head, "choices": choices, **more}).encode() + b"\\n\\n"
plain = whole(b"application/json", body)
pieces = [chunk([{"index": 0, "delta": {"role": "assistant", "content": "A dog."}, "finish_reason": None}])]
pieces += [chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}]), chunk([], usage=usage), b"data: [DONE]\\n\\n"]
streamed = whole(b"text/event-stream", b"".join(pieces))
async def talk(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\\r\\n\\r\\n")).lower().split(b"\\r\\n")
            length = next(line for line in head if line.startswith(b"content-length"))
            asked = json.loads(await reader.readexactly(int(length.split(b":")[1])))
            async with places:
                await asyncio.sleep(delay)
            writer.write(streamed if asked.get("stream") else plain)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
async def main():
    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


@contextmanager
def delayed_llm(seconds: float) -> Iterator[str]:
    """Run the server during the block, which gets its address."""
    with DelayedLLM(seconds) as server:
        yield server.address


class DelayedLLM:
    """The server; a context manager.

    Args:
        seconds: that it takes for a reply.
        at_once: the requests that it works on at a time; others wait.
    """

    def __init__(self, seconds: float, at_once: int = 10_000) -> None:
        command = [sys.executable, "-c", SERVER, str(seconds), str(at_once)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.address = f"http://127.0.0.1:{int(self._process.stdout.readline())}/v1"

    def kill(self) -> None:
        """End it at once, with all requests in flight."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        assert self._process.stdout is not None
        self._process.stdout.close()
