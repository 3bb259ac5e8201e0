"""The base of embedders and rankers at servers: the same door as that of language models."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Protocol

from annotated_types import Ge

from convrag import LLMError, Message, Report, TurnRecord, operational
from convrag.sdk.errors import RunStopped
from convrag.sdk.llm.streaming import listen_with
from convrag.sdk.storage import add_usage
from convrag.sdk.types import Stage, Usage
from convrag_llms.endpoint import Endpoint
from convrag_llms.limits import Budget, Limits, RateLimiter
from convrag_llms.prices import TokenPrices, describe_missing_price, read_given_prices
from convrag_llms.refused_parameters import RefusedParameters, find_refused_parameters
from convrag_llms.request_batches import TooLarge, TooLargeError
from convrag_llms.request_body import check_extra

_NOT_EXTRA = {
    **dict.fromkeys(("model", "timeout", "dimensions", "input_type"), "it has a parameter"),
    **dict.fromkeys(("api_base", "base_url"), "set api_base"),
    **dict.fromkeys(("num_retries", "max_retries"), "set retries"),
    **dict.fromkeys(("input", "query", "documents", "texts", "top_n"), "convrag sets it itself"),
}
"""Parameters that `extra` does not take -> what to do instead."""


class ServerReply(Protocol):
    """A reply with what it cost."""

    @property
    def tokens(self) -> int:
        """The tokens of the request, counted by the server or estimated."""

    @property
    def cost(self) -> float | None:
        """US dollars of the request; None where no price is known."""


@dataclass(kw_only=True, eq=False)
class ServerStage(Stage):
    """A stage whose model is at a server: retries, limits, costs and error messages.

    Results are stored under the request, not under the source code: a new release of convrag pays
    for none of them again.

    Args:
        model: as the option names it.
        api_base: the server's address, such as http://localhost:8000/v1. It is written into the
            run's files: one with a password goes into a variable that api_base_env names.
        api_base_env: the NAME of an environment variable that holds the address instead.
        api_key_env: the NAME of the environment variable that holds the key. None takes the
            provider's usual one or, with an address of your own, none at all.
        extra: what else this server takes, by name, sent as it is; extra_headers are sent as
            headers. A price that is not listed goes here as well: input_cost_per_token, in US
            dollars.
        timeout: seconds for each try, from the request to the last byte of the reply.
        concurrency: requests in flight at a time.
        requests_per_minute: requests begun in any 60 seconds; None does not limit them.
        retries: how often a failed request is repeated (limits reached, timeouts, server errors),
            after waits of 1, 2, 4, ... seconds, or when the server says (Retry-After).
        retry_seconds: seconds that a request may wait between its tries, all waits together.
        max_cost_usd: US dollars that this stage may spend in this process; the run is stopped, with
            all that was done kept, before a request that could pass it.

    Raises:
        ConfigError: a parameter makes no sense, or would put a key into the configuration.
    """

    code_version = "1"
    group: ClassVar[str]
    """The group of the option: embedder or ranker."""
    kind: ClassVar[str]
    """What its server is, for messages: "an embedding server"."""
    prefix: ClassVar[str] = ""
    """The provider before the model's name, where the option adds it."""
    endpoint_class: ClassVar[type[Endpoint]] = Endpoint

    model: str
    api_base: str | None = None
    api_base_env: str | None = None
    api_key_env: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    timeout: Annotated[float, operational, Ge(0.001)] = 60.0
    concurrency: Annotated[int, operational, Ge(1)] = 8
    requests_per_minute: Annotated[int | None, operational, Ge(1)] = None
    retries: Annotated[int, operational, Ge(0)] = 5
    retry_seconds: Annotated[float, operational, Ge(0)] = 120.0
    max_cost_usd: Annotated[float | None, operational, Ge(0)] = None

    def __post_init__(self) -> None:
        check_extra(self.extra, self.group, _NOT_EXTRA)
        full_name = f"{self.prefix}{self.model.removeprefix(self.prefix)}"
        self.endpoint = self.endpoint_class(
            full_name, self.api_base, self.api_base_env, self.api_key_env, self.group
        )
        self.given_prices = read_given_prices(self.extra, self.group)
        self.limits = Limits(
            self.timeout,
            self.retries,
            self.retry_seconds,
            RateLimiter(self.concurrency, self.requests_per_minute),
            Budget(self.max_cost_usd, self.endpoint.model),
            self.find_prices,
        )
        self._lock = threading.Lock()
        self._requests = 0
        self._tokens = 0

    def check(self) -> Iterator[str]:
        """Yield what is missing: a key, an address, a self-hosted server, or a price."""
        yield from self.endpoint.problems()
        if self.max_cost_usd is not None and self.find_prices() is None:
            yield describe_missing_price(self.max_cost_usd, self.endpoint.model, "")

    def endpoints(self) -> Sequence[str]:
        """Return the server's address, without user, password and query."""
        address = self.endpoint.public_address()
        return (address,) if address else ()

    def load_libraries(self) -> None:
        """Import the libraries of the first request."""
        from convrag_llms import call, connections  # noqa: F401 - tenacity and urllib3

    @abstractmethod
    def find_prices(self) -> TokenPrices | None:
        """Return the highest prices of the model's tokens; None where none is known."""

    @property
    def refused(self) -> RefusedParameters:
        """The parameters that the model refuses, as far as this process knows."""
        address = self.endpoint.public_address() or ""
        return find_refused_parameters(self.endpoint.model.removeprefix(self.prefix), address)

    def report(self, records: Iterable[TurnRecord]) -> Report | None:
        """Report how many requests were sent, what they cost, and what the server refuses."""
        lines = [*self.describe_requests(), *self.refused.describe()]
        return Report(self.config_place or self.group, tuple(lines)) if lines else None

    def describe_requests(self) -> Iterator[str]:
        """Say how many requests were sent, with their tokens and cost; nothing without any."""
        if self._requests:
            yield (
                f"{self.endpoint.model}: {self._requests:,} requests with {self._tokens:,} tokens, "
                f"${self.limits.budget.spent:.4f}."
            )

    def send(
        self,
        ask: Callable[[Mapping[str, Any], float], Any],
        body: Mapping[str, Any],
        texts: Sequence[str],
    ) -> Any:
        """Send a request as often as it takes, and return the reply (a `ServerReply`).

        Args:
            ask: sends the request once, within so many seconds, and reads the reply.
            body: the request, without address and key.
            texts: what it has to be paid for.

        Raises:
            TooLargeError: the server refuses the request for its size.
            LLMError: there is no usable reply for another reason.
            RunStopped: the cost limit is reached.
        """
        from convrag_llms.call import Call
        from convrag_llms.error_messages import explain_error
        from convrag_llms.request_batches import find_refused_size

        self.load_libraries()  # that takes seconds, which are not the server's

        def ask_whole(request: Mapping[str, Any], timeout: float, _: object) -> Any:
            return ask(request, timeout)

        refused_size: TooLarge | None = None
        start = time.perf_counter()
        with listen_with(None):  # the pieces of an answer are the language model's
            call = Call(
                ask_whole,
                self.endpoint,
                body,
                [Message("user", text) for text in texts],
                self.limits,
                self.refused,
                place=self.config_place or self.group,
                advise=self.advise,
            )
            try:
                reply: Any = call.run()
            except RunStopped:
                raise
            except Exception as error:
                failure = explain_error(error, call)
                refused_size = find_refused_size(error)
            else:
                self._count(reply, call.tries, time.perf_counter() - start)
                return reply
        add_usage(Usage(seconds=time.perf_counter() - start, retries=max(0, call.tries - 1)))
        # Outside of `except`: the original error may hold the key, and would be its context.
        if refused_size:
            raise TooLargeError(failure, refused_size)
        raise failure

    def advise(self, error: Exception, call: Any) -> str:
        """Say what to do about an error; empty where the usual advice fits. Places say `llm.`."""
        from convrag_llms.errors import ReplyTooLong, UnusableReply, read_status
        from convrag_llms.request_batches import find_refused_size

        if isinstance(error, UnusableReply):
            return error.advice or f"Is it {self.kind} (llm.api_base, llm.model)?"
        if isinstance(error, ReplyTooLong) or find_refused_size(error):
            return "Set a smaller llm.batch_size, or cut the texts."
        status = read_status(error)
        if status == 408:
            return (
                f"It had llm.timeout={self.timeout:g} seconds for each try: give it more, or set a "
                "smaller llm.batch_size."
            )
        if status in (400, 405, 422):
            return f"Check llm.model and llm.extra. Is it {self.kind} (llm.api_base)?"
        return ""

    def _count(self, reply: ServerReply, tries: int, seconds: float) -> None:
        """Count a reply in the usage of the turn, and for the report."""
        with self._lock:
            self._requests += 1
            self._tokens += reply.tokens
        cost = reply.cost or 0.0
        usage = Usage(
            prompt_tokens=reply.tokens,
            cost_usd=cost,
            spent_usd=cost,
            unpriced=int(reply.cost is None),
            seconds=seconds,
            retries=tries - 1,
        )
        add_usage(usage)


def make_defect(stage: ServerStage, problem: str) -> LLMError:
    """Make the error for what a server should not do."""
    address = stage.endpoint.public_address()
    where = f" at {address}" if address else ""
    return LLMError(
        f"{stage.endpoint.model}{where} {problem}",
        provider=stage.endpoint.provider,
        model=stage.endpoint.model,
    )
