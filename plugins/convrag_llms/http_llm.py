"""The base of the options that ask a server."""

from __future__ import annotations

import copy
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from annotated_types import Ge

from convrag import LLM, Completion, ConfigError, Prompt, Report, Store, TurnRecord, operational
from convrag.sdk.errors import RunStopped
from convrag.sdk.llm.sampling import MaxTokens, Temperature, TopP
from convrag.sdk.storage import add_usage
from convrag.sdk.types import Usage
from convrag_llms.endpoint import Endpoint
from convrag_llms.limits import Budget, Limits, RateLimiter
from convrag_llms.prices import (
    BATCH_SHARE,
    OUTPUT_PRICE,
    TokenPrices,
    describe_missing_price,
    read_given_prices,
)
from convrag_llms.refused_parameters import RefusedParameters, find_refused_parameters
from convrag_llms.request_body import (
    check_extra,
    format_messages,
    make_response_format,
    translate_sampling,
)
from convrag_llms.thought_habits import find_habits

if TYPE_CHECKING:
    from convrag_llms.batch_protocols import BatchProtocol
    from convrag_llms.batching import Batches
    from convrag_llms.call import Call
    from convrag_llms.reply import Reply, ReplyReader


class HttpLLM(LLM):
    """A language model at a server: retries, limits, costs and error messages.

    An option sends the requests.

    Requests that may succeed later (limits reached, timeouts, server errors, cut-off or empty
    replies) are repeated with exponential backoff, or when the server says (Retry-After). A stage
    that asks may override temperature, top_p, max_tokens, seed and stop.

    Args:
        model: as the option names it.
        api_base: the server's address, such as http://localhost:8000/v1; None is the provider's
            own. It is written into the run's files: one with a password goes into a variable that
            api_base_env names.
        api_base_env: the NAME of an environment variable that holds the address instead.
        api_key_env: the NAME of the environment variable that holds the key. None takes the
            provider's usual one (OPENAI_API_KEY) or, with an address of your own, none at all
            (azure: AZURE_API_KEY).
        temperature: 0 gives the likeliest reply, more gives more varied ones; None leaves it to the
            model.
        top_p: share of the likeliest tokens to draw from, 0 to 1; None leaves it to the model.
        max_tokens: the longest reply, in tokens; None leaves it to the model.
        seed: for servers that can repeat a draw; None sends none.
        stop: texts at which a reply ends; None or none at all sends none.
        extra: what else litellm or this provider takes, by name (num_ctx, api_version,
            reasoning_effort, ...), sent as it is. Prices of a model that litellm does not know go
            here as well: input_cost_per_token and output_cost_per_token, in US dollars; one of
            them alone is an error.
        cache_prompts: marks prompts of Claude as worth caching at the provider, so that a
            conversation's next turn pays a tenth for what it repeats, where that is 1,024 tokens or
            more (writing costs a quarter more). Others cache by themselves.
        timeout: seconds for each try, from the request to the last byte of the reply.
        concurrency: requests in flight at a time; None does not limit them.
        requests_per_minute: requests begun in any 60 seconds; None does not limit them.
        retries: how often a failed request is repeated: 5 waits of 1, 2, 4, 8 and 16 seconds, each
            with up to a second of jitter, outlast an outage of half a minute. Where nothing listens
            at the address, 2 waits of a second.
        retry_seconds: seconds that a call may wait between its tries, all waits together; it fails
            where the server asks for a longer wait.
        batch: sends requests in waves, at half the price: those of all conversations at work wait
            for each other, go as one batch (OpenAI's protocol, or Anthropic's), and are answered
            within a day. For runs and grids, with many workers (workers=500: a wave holds a request
            of each); a killed command takes its batches up again. A chat's answers are streamed,
            and cost what they cost.
        store: keeps which batch a request went with.
        max_cost_usd: US dollars that this stage may spend in this process; the run is stopped, with
            all that was done kept, before a request that could pass it. Tries that time out count
            as if their reply had been full length.

    Raises:
        ConfigError: a parameter makes no sense, or would put a key into the configuration.
    """

    streams = True
    endpoint_class: ClassVar[type[Endpoint]] = Endpoint
    prefix: ClassVar[str] = ""
    """The provider before the model's name, where the option adds it."""

    def __init__(
        self,
        *,
        model: str,
        api_base: str | None = None,
        api_base_env: str | None = None,
        api_key_env: str | None = None,
        temperature: Temperature | None = 0.0,
        top_p: TopP | None = None,
        max_tokens: MaxTokens | None = 512,
        seed: int | None = None,
        stop: list[str] | None = None,
        extra: dict[str, Any] = {},  # noqa: B006 - read only
        cache_prompts: Annotated[bool, operational] = False,
        timeout: Annotated[float, operational, Ge(0.001)] = 60.0,
        concurrency: Annotated[int | None, operational, Ge(1)] = None,
        requests_per_minute: Annotated[int | None, operational, Ge(1)] = None,
        retries: Annotated[int, operational, Ge(0)] = 5,
        retry_seconds: Annotated[float, operational, Ge(0)] = 120.0,
        batch: Annotated[bool, operational] = False,
        store: Store | None = None,
        max_cost_usd: Annotated[float | None, operational, Ge(0)] = None,
    ) -> None:
        check_extra(extra)
        if cache_prompts and "claude" not in model:
            raise ConfigError(f"llm.cache_prompts=true is for Claude: {model} has no such marks")
        self.model = model
        full_name = f"{self.prefix}{model.removeprefix(self.prefix)}"
        self.endpoint = self.endpoint_class(full_name, api_base, api_base_env, api_key_env)
        self.given_prices = read_given_prices(extra)
        self.sampling: Mapping[str, Any] = {
            "temperature": temperature,
            "top_p": top_p,
            "max_tokens": max_tokens,
            "seed": seed,
            "stop": list(stop) if stop else None,
        }
        self.extra = dict(extra)
        self.cache_prompts = cache_prompts
        self.batch = batch
        self.store = store
        self.limits = Limits(
            timeout,
            retries,
            retry_seconds,
            RateLimiter(concurrency, requests_per_minute),
            Budget(max_cost_usd, self.endpoint.model),
            self.find_prices,
        )

    def check(self) -> Iterable[str]:
        """Yield what is missing: a key, an address, a self-hosted server, or a price."""
        yield from self.endpoint.problems()
        limit = self.limits.budget.limit
        if limit is None:
            return
        prices = self.find_prices()
        if prices is None:
            yield describe_missing_price(limit, self.endpoint.model, OUTPUT_PRICE)
        elif prices.find_longest(self.sampling["max_tokens"]) == inf:
            yield (
                f"{{place}}.max_cost_usd={limit:g} cannot be kept: replies have no longest "
                "length: set {place}.max_tokens"
            )

    def load_libraries(self) -> None:
        """Import the libraries of the first request."""
        from convrag_llms import call, connections  # noqa: F401 - tenacity and urllib3

    @abstractmethod
    def ask(
        self, body: Mapping[str, Any], timeout: float, on_piece: Callable[[str], None] | None
    ) -> Reply:
        """Send one request once, and read its reply, within the deadline of this thread.

        Args:
            body: the request, without address and key.
            timeout: seconds for the whole of it, for libraries that take a timeout.
            on_piece: is given the pieces of the text as they arrive; None asks for the reply in one
                piece.

        Raises:
            Exception: one of errors.py, or what a library raises and errors.py can read.
        """

    @property
    def refused(self) -> RefusedParameters:
        """The parameters that the model refuses, as far as this process knows."""
        return find_refused_parameters(*self._find_place())

    def _find_place(self) -> tuple[str, str]:
        """Find the names of the model and of its server, under which things are remembered."""
        model = self.endpoint.model.removeprefix(self.prefix)
        return model, self.endpoint.public_address() or ""

    def make_reader(
        self, body: Mapping[str, Any], on_piece: Callable[[str], None] | None
    ) -> ReplyReader:
        """Make a reader for the reply to a request; see `ask` for the arguments."""
        from convrag_llms.reply import ReplyReader

        return ReplyReader(
            self.endpoint.model,
            on_piece,
            has_tools="tools" in body,
            begins_inside=find_habits(*self._find_place()).begins_inside,
        )

    def make_reply(self, reader: ReplyReader, cost: float | None) -> Reply:
        """Make the reply that was read, and learn from it. Raises EmptyReply."""
        is_whole = reader.finish_reason != "length"
        find_habits(*self._find_place()).observe(
            closed_unopened=reader.closed_unopened,
            is_apart=reader.has_thought_fields or (is_whole and not reader.thoughts),
        )
        return reader.make_reply(cost)

    @abstractmethod
    def batch_protocol(self) -> BatchProtocol:
        """Return the server's batch protocol."""

    @cached_property
    def _batches(self) -> Batches:
        """Return the batches of the model. Raises ConfigError without a store."""
        from convrag_llms.batching import Batches

        if self.store is None:
            raise ConfigError("llm.batch=true needs a store")
        model = self.endpoint.model.removeprefix(self.prefix)
        place = f"{model} at {self.endpoint.public_address()}"
        return Batches(self.batch_protocol(), self.store, place)

    def report(self, records: Iterable[TurnRecord]) -> Report | None:
        """Report what went in batches, and the parameters that the model refuses."""
        lines = [*self._describe_batches(), *self.refused.describe()]
        return Report("llm", tuple(lines)) if lines else None

    def _describe_batches(self) -> Iterator[str]:
        """Say how many requests went in batches, and what they would have cost one by one."""
        if not self.batch or not self._batches.submitted:
            return
        spent = self.limits.budget.spent
        yield (
            f"Batches: {self._batches.submitted} requests. What was asked now cost ${spent:.4f}; "
            f"one by one it would have cost ${spent / BATCH_SHARE:.4f}."
        )

    @abstractmethod
    def find_prices(self) -> TokenPrices | None:
        """Return the highest prices of the model's tokens; None where none is known."""

    def endpoints(self) -> Sequence[str]:
        """Return the server's address, without user, password and query."""
        address = self.endpoint.public_address()
        return (address,) if address else ()

    def request(self, prompt: Prompt) -> Mapping[str, Any]:
        """Return the request as sent, without the key and the secret parts of the address."""
        body = self.build_body(prompt)
        address = self.endpoint.public_address()
        if address:
            body["api_base"] = address
        return body

    def complete(self, prompt: Prompt) -> Completion:
        """Ask, at most 1 + `retries` times. Raises LLMError, and RunStopped at the cost limit."""
        body = self.build_body(prompt)
        if self.cache_prompts:
            body["messages"] = format_messages(prompt.messages, cache_control=True)
        return self.send(body, prompt)

    def build_body(self, prompt: Prompt) -> dict[str, Any]:
        """Build the request, without address and key."""
        given = {**self.sampling, "max_tokens": self._find_max_tokens(prompt), **prompt.sampling}
        sampling = {name: value for name, value in given.items() if value is not None}
        parameters = translate_sampling(
            sampling, self.endpoint.provider, self.endpoint.is_self_hosted()
        )
        return {
            "model": self.endpoint.model,
            "messages": format_messages(prompt.messages),
            **make_response_format(prompt.schema),
            **copy.deepcopy(self.extra),
            **parameters,
        }

    def _find_max_tokens(self, prompt: Prompt) -> int | None:
        """Find the longest reply in tokens; longer than the option's where a prompt needs room."""
        max_tokens: MaxTokens | None = self.sampling["max_tokens"]
        return max_tokens and max(max_tokens, prompt.room)

    def send(self, body: Mapping[str, Any], prompt: Prompt) -> Completion:
        """Send a prompt's request as often as it takes. Raises as `complete`."""
        from convrag_llms.call import Call
        from convrag_llms.error_messages import explain_error
        from convrag_llms.errors import EmptyReply

        self.load_libraries()  # that takes seconds, which are not the server's
        call = Call(
            self.ask,
            self.endpoint,
            body,
            prompt.messages,
            self.limits,
            self.refused,
            prompt.sampling.get("max_tokens"),
            self.config_place or "llm",
        )
        start = time.perf_counter()
        try:
            reply = call.run()
        except RunStopped:
            raise
        except EmptyReply as error:
            if prompt.reads_thoughts and error.thoughts:
                reply = _forget_cost(error.thoughts)
                return self._make_completion(reply, call, time.perf_counter() - start)
            failure = explain_error(error, call)
        except Exception as error:
            failure = explain_error(error, call)
        else:
            return self._make_completion(reply, call, time.perf_counter() - start)
        _count_failure(call, time.perf_counter() - start)
        # Outside of `except`: the original error may hold the key, and would be its context.
        raise failure

    def _make_completion(self, reply: Reply, call: Call, seconds: float) -> Completion:
        prompt_tokens = reply.tokens.prompt
        if prompt_tokens is None:  # the server does not say
            contents = [message.content for message in call.messages]
            prompt_tokens = self.count_tokens("\n".join(contents))
        completion_tokens = reply.tokens.completion
        if completion_tokens is None:
            written = [reply.thoughts, reply.text]
            completion_tokens = self.count_tokens("\n".join(text for text in written if text))
        return Completion(
            text=reply.text,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            cached_tokens=reply.tokens.cached,
            cost_usd=None if reply.cost is None else reply.cost + call.wasted_cost,
            seconds=seconds,
            retries=call.tries - 1,
            model=reply.model,
            finish_reason=reply.finish_reason,
            first_words=reply.first_words,
            reasoning=reply.thoughts,
            reasoning_tokens=min(reply.thought_tokens, completion_tokens),
        )


def _forget_cost(reply: Reply) -> Reply:
    """Return a reply without its cost, which its call has counted as wasted."""
    return reply if reply.cost is None else replace(reply, cost=0.0)


def _count_failure(call: Call, seconds: float) -> None:
    """Count what a call that failed has cost."""
    usage = Usage(
        cost_usd=call.wasted_cost,
        spent_usd=call.wasted_cost,
        seconds=seconds,
        retries=max(0, call.tries - 1),
    )
    add_usage(usage)
