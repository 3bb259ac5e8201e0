"""A server of language models that often fails; it prints its address and serves for ever.

A fifth of its replies are faults: errors, resets, half replies, empty ones, no JSON, and now and
then a long wait.
"""

import random
import sys
import time
from typing import Any

from llm_server import Server, Step, make_error, make_reply

REPLIES = [
    "The Moon is about 384,400 km away [1]. It turns once a month [2].",
    "How far is the Moon from the Earth?",
    "<IN>The Moon is about 384,400 km away</IN> from the Earth.",
    '{"labels": ["support"]}',
]
FAULTS = [
    make_error(500),
    make_error(429, headers={"retry-after": "0"}),
    make_error(400),
    Step(reset=True),
    Step(body=make_reply(), sent_bytes=40),
    Step(body=make_reply("")),
    Step(body=b"<html>no</html>"),
    Step(body=make_reply("A cut"), pieces=1),
]


class FaultyServer(Server):
    """A server that gives one of many replies at random, and a fault each fifth time."""

    def begin_request(self, body: dict[str, Any], path: str, key: str) -> Step:
        """What is done with a request."""
        if random.random() < 0.002:
            time.sleep(8)  # longer than the timeout
        return (
            random.choice(FAULTS)
            if random.random() < 0.2
            else Step(body=make_reply(random.choice(REPLIES)))
        )

    def end_request(self) -> None:
        """Nothing is counted."""


if __name__ == "__main__":
    sys.stdout.write(f"{FaultyServer().address}\n")
    sys.stdout.flush()
