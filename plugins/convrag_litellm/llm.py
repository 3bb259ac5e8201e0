"""The stage."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from typing import Annotated, Any

from convrag.errors import ConfigError, LLMError, MissingExtra
from convrag.options import operational
from convrag.stages import LLM
from convrag.types import Completion, Prompt
from convrag_litellm.failures import explain
from convrag_litellm.retrying import EmptyReply, with_retries
from convrag_litellm.secrets import public_address

_LIBRARIES = ("litellm", "tenacity")
_PLACEHOLDER = "not-needed"  # OpenAI's client insists on a key; a local server does not look at it


class LiteLLM(LLM):
    """Ask a language model through litellm: a hosted one, or any server that speaks the OpenAI protocol.

    Requests that may succeed later (limits reached, timeouts, server errors, empty replies) are repeated with growing
    waits, or after as long as the server says.

    Args:
        model: as litellm names it: provider/model, such as openai/gpt-4o; openai/<name> for a server of your own.
        api_base: the server's address, such as http://localhost:8000/v1; None is the provider's own.
        api_key_env: the NAME of the environment variable that holds the key. None takes the provider's usual one
            (OPENAI_API_KEY) or, with an api_base, none at all.
        temperature: 0 gives the likeliest reply, more gives more varied ones; None leaves it to the model. A stage
            that asks may override this and the next three.
        top_p: share of the likeliest tokens to draw from, 0 to 1; None leaves it to the model.
        max_tokens: the longest reply, in tokens; None leaves it to the model.
        seed: for servers that can repeat a draw; None sends none.
        timeout: seconds for each try.
        retries: how often a failed request is repeated.

    Raises:
        ConfigError: api_key_env is no name of an environment variable; timeout or retries make no sense.
    """

    def __init__(
        self,
        *,
        model: str,
        api_base: str | None = None,
        api_key_env: str | None = None,
        temperature: float | None = 0.0,
        top_p: float | None = None,
        max_tokens: int | None = 512,
        seed: int | None = None,
        timeout: Annotated[float, operational] = 60.0,
        retries: Annotated[int, operational] = 3,
    ) -> None:
        if api_key_env is not None and not re.fullmatch(r"[A-Z_][A-Z0-9_]{0,63}", api_key_env):
            # It may be the key itself, so it is not repeated here.
            raise ConfigError("llm.api_key_env must be the name of an environment variable, such as OPENAI_API_KEY")
        if timeout <= 0 or retries < 0:
            raise ConfigError(f"llm.timeout={timeout} must be above 0, and llm.retries={retries} at least 0")
        self.model = model
        self.api_base = api_base
        self.api_key_env = api_key_env
        self.sampling = {"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens, "seed": seed}
        self.timeout = timeout
        self.retries = retries

    def check(self) -> Iterable[str]:
        """Whether the libraries and the key are there; the server is not asked."""
        if missing := _missing_extra():
            yield str(missing)
            return
        for name in self._missing_keys():
            yield f"the environment variable {name} is not set: put the key for {self.model} there (export {name}=...)"

    def request(self, prompt: Prompt) -> Mapping[str, Any]:
        """The request as sent, without key, and without what in the address may be secret (user, password, query)."""
        address = {} if self.api_base is None else {"api_base": public_address(self.api_base)}
        return self._body(prompt) | address

    def complete(self, prompt: Prompt) -> Completion:
        """Ask, at most 1 + `retries` times. Raises LLMError, and MissingExtra where litellm is not installed."""
        from convrag_litellm import _litellm

        if missing := _missing_extra():
            raise missing
        key = self._key()
        request = self._body(prompt) | {"api_base": self.api_base, "api_key": key, "timeout": self.timeout}
        start = time.perf_counter()
        try:
            response, text = with_retries(lambda: self._ask(request), self.retries)
        except Exception as error:
            failure = explain(
                error,
                model=self.model,
                address=self.api_base,
                key=key,
                key_variable=self.api_key_env,
                timeout=self.timeout,
            )
        else:
            usage = getattr(response, "usage", None)
            return Completion(
                text,
                getattr(usage, "prompt_tokens", 0) or 0,
                getattr(usage, "completion_tokens", 0) or 0,
                cost_usd=_litellm.cost(response, self.model),
                seconds=time.perf_counter() - start,
                model=getattr(response, "model", None) or self.model,
            )
        raise failure  # out here, since the original error may hold the key and would come along as its context

    def count_tokens(self, text: str) -> int:
        """As litellm counts them for this model: approximate where it has no tokenizer of its own."""
        from convrag_litellm import _litellm

        return _litellm.count_tokens(self.model, text)

    def _ask(self, request: Mapping[str, Any]) -> tuple[Any, str]:
        from convrag_litellm import _litellm

        response = _litellm.complete(request)
        choice = response.choices[0] if response.choices else None
        text = (choice.message.content or "").strip() if choice else ""
        if not text:
            raise EmptyReply(f"the reply is empty (finish_reason: {choice.finish_reason if choice else 'no choices'})")
        return response, text

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        sampling = {name: value for name, value in (self.sampling | dict(prompt.sampling)).items() if value is not None}
        messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
        return {"model": self.model, "messages": messages, **sampling}

    def _key(self) -> str | None:
        """The key; None lets litellm look where the provider's usually is."""
        if self.api_key_env is None:
            return _PLACEHOLDER if self.api_base else None
        if key := os.environ.get(self.api_key_env):
            return key
        raise LLMError(
            f"the environment variable {self.api_key_env} is not set: put the key for {self.model} there",
            provider=self.model.partition("/")[0],
            model=self.model,
        )

    def _missing_keys(self) -> Iterable[str]:
        from convrag_litellm import _litellm

        if self.api_key_env is not None:
            return [] if os.environ.get(self.api_key_env) else [self.api_key_env]
        return [] if self.api_base else _litellm.missing_keys(self.model)


@cache
def _missing_extra() -> MissingExtra | None:
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    return MissingExtra(" and ".join(missing), "convrag[litellm]", "llm=litellm") if missing else None
