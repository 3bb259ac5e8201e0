"""Bare litellm: a list of messages is the conversation."""

import os
from typing import Any

from conversing import measure, talk_in_messages

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = (
    "True"  # else its import waits for a list of prices from the network
)
import litellm


def begin(address: str, name: str) -> Any:
    """A conversation."""
    given = {"model": "openai/m", "api_base": address, "api_key": "none"}
    return talk_in_messages(
        lambda messages: litellm.completion(messages=messages, **given),
        lambda messages: litellm.acompletion(messages=messages, **given),
    )


if __name__ == "__main__":
    measure(begin)
