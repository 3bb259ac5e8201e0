"""The options that ask a server, as clients of the server of tests/support/llm_server.py."""

from typing import Any

import pytest

from convrag_llms.http_llm import HttpLLM
from convrag_llms.litellm_llm import LiteLLM
from convrag_llms.openai_compatible import OpenAICompatible
from llm_server import Server

OPTIONS: dict[str, type[HttpLLM]] = {"litellm": LiteLLM, "openai_compatible": OpenAICompatible}

COST_WITHOUT_PRICE = {"litellm": None, "openai_compatible": 0.0}
"""US dollars of a reply of a server on this machine, where no prices are given."""

every_option = pytest.mark.parametrize(
    "option", [pytest.param("litellm", marks=pytest.mark.slow), "openai_compatible"], indirect=True
)
"""Runs a test with a server for each option; through litellm in the slow layer, since the two share
what fails.
"""


def make_client(server: Server, **parameters: Any) -> HttpLLM:
    """Make a client of a server on loopback: the option that the server is for; the parameters are
    those of both.
    """
    return OPTIONS[server.option](
        **{"model": "openai/local", "api_base": server.address, **parameters}
    )
