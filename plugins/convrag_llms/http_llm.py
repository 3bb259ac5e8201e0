"""What the options that ask a server have in common."""

from __future__ import annotations

import copy
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from convrag import LLM, Completion, Prompt
from convrag.sdk.errors import RunStopped
from convrag.sdk.storage import add_usage
from convrag.sdk.types import Usage
from convrag_llms.endpoint import Endpoint
from convrag_llms.limits import Budget, Limits, RateLimiter
from convrag_llms.parameters import check_at_least, check_extra, format_messages, translate_sampling
from convrag_llms.prices import ModelPrices, TokenPrices, read_given_prices

if TYPE_CHECKING:
    from convrag_llms.call import Call
    from convrag_llms.reply import Reply


class HttpLLM(LLM):
    """A language model at a server: retries, limits, costs and error messages; an option sends the requests.

    Args:
        endpoint: where the model is.
        extra: and all others: as in the options. A sampling parameter that is None is not sent.

    Raises:
        ConfigError: a parameter makes no sense, or would put a key into the configuration.
    """

    streams = True

    def __init__(
        self,
        endpoint: Endpoint,
        extra: Mapping[str, Any],
        *,
        stop: Sequence[str] | None,
        timeout: float,
        concurrency: int | None,
        requests_per_minute: int | None,
        retries: int,
        retry_seconds: float,
        max_cost_usd: float | None,
        **sampling: Any,
    ) -> None:
        check_extra(extra)
        check_at_least(0, retries=retries, retry_seconds=retry_seconds, max_cost_usd=max_cost_usd)
        check_at_least(1, concurrency=concurrency, requests_per_minute=requests_per_minute)
        check_at_least(0.001, timeout=timeout)
        self.endpoint = endpoint
        self.given_prices = read_given_prices(extra)
        self.sampling = {**sampling, "stop": list(stop) if stop else None}
        self.extra = dict(extra)
        self.limits = Limits(
            timeout,
            retries,
            retry_seconds,
            RateLimiter(concurrency, requests_per_minute),
            Budget(max_cost_usd, endpoint.model),
            ModelPrices(endpoint.model, self.find_prices),
        )

    def check(self) -> Iterable[str]:
        """Whether key, address and prices are known; a self-hosted server must accept a connection."""
        yield from self.endpoint.problems()
        limit = self.limits.budget.limit
        if limit is not None and (problem := self.limits.prices.problem(self.sampling["max_tokens"])):
            yield f"llm.max_cost_usd={limit:g} cannot be kept: {problem}"

    def load_libraries(self) -> None:
        """Import the libraries of the first request."""
        from convrag_llms import call  # noqa: F401 - urllib3 and tenacity

    @abstractmethod
    def ask(self, body: Mapping[str, Any], timeout: float, on_piece: Callable[[str], None] | None) -> Reply:
        """Send one request and read its reply, within the deadline of this thread, without repeating anything.

        Args:
            body: the request, without address and key.
            timeout: seconds for the whole of it, for libraries that want to be told.
            on_piece: is given the pieces of the text as they arrive; None asks for the reply in one piece.

        Raises:
            Exception: one of errors.py, or what a library raises and errors.py can read.
        """

    @abstractmethod
    def find_prices(self) -> TokenPrices | None:
        """The highest prices of the model's tokens; None where none is known."""

    def endpoints(self) -> Sequence[str]:
        """The server's address, wherever it comes from, without user, password and query."""
        address = self.endpoint.public_address()
        return (address,) if address else ()

    def request(self, prompt: Prompt) -> Mapping[str, Any]:
        """The request as sent, without key, and without what in the address may be secret (user, password, query)."""
        address = self.endpoint.public_address()
        return self.build_body(prompt) | ({"api_base": address} if address else {})

    def complete(self, prompt: Prompt) -> Completion:
        """Ask, at most 1 + `retries` times. Raises LLMError, and RunStopped at the cost limit."""
        return self.send(self.build_body(prompt), prompt)

    def build_body(self, prompt: Prompt) -> dict[str, Any]:
        """Build the request, without address and key."""
        sampling = {name: value for name, value in (self.sampling | dict(prompt.sampling)).items() if value is not None}
        params = translate_sampling(sampling, self.endpoint.provider, self.endpoint.is_self_hosted())
        messages = format_messages(prompt.messages)
        return {"model": self.endpoint.model, "messages": messages, **copy.deepcopy(self.extra), **params}

    def send(self, body: Mapping[str, Any], prompt: Prompt) -> Completion:
        """Send a prompt's request as often as it takes. Raises as `complete`."""
        from convrag_llms.call import Call
        from convrag_llms.error_messages import explain_error

        self.load_libraries()  # that takes seconds, which are not the server's
        call = Call(self.ask, self.endpoint, body, prompt.messages, self.limits)
        start = time.perf_counter()
        try:
            reply = call.run()
        except RunStopped:
            raise
        except Exception as error:
            failure = explain_error(error, call)
        else:
            return self._make_completion(reply, call, time.perf_counter() - start)
        seconds, retries = time.perf_counter() - start, max(0, call.tries - 1)
        add_usage(Usage(cost_usd=call.wasted_cost, spent_usd=call.wasted_cost, seconds=seconds, retries=retries))
        raise failure  # out here, since the original error may hold the key and would come along as its context

    def _make_completion(self, reply: Reply, call: Call, seconds: float) -> Completion:
        prompt_tokens, completion_tokens = reply.tokens.prompt, reply.tokens.completion
        if prompt_tokens is None:  # the server does not say
            prompt_tokens = self.count_tokens("\n".join(message.content for message in call.messages))
        return Completion(
            text=reply.text,
            prompt_tokens=prompt_tokens,
            completion_tokens=self.count_tokens(reply.text) if completion_tokens is None else completion_tokens,
            cached_tokens=reply.tokens.cached,
            cost_usd=None if reply.cost is None else reply.cost + call.wasted_cost,
            seconds=seconds,
            retries=call.tries - 1,
            model=reply.model,
            finish_reason=reply.finish_reason,
        )
