"""One prompt's call: its request within the limits, repeated where that may help, and what is said
when it fails.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from convrag import LLMError, Message
from convrag.sdk.cancellation import Cancelled, sleep
from convrag.sdk.llm.streaming import current_listener
from convrag.sdk.secrets import redact
from convrag_llms.connections import deadline
from convrag_llms.endpoint import KEY_VARIABLES, Endpoint, find_secret_values
from convrag_llms.limits import Limits
from convrag_llms.reply import (
    ConnectionFailed,
    ConnectionRefused,
    EmptyReply,
    Reply,
    ReplyTooLong,
    UntrustedServer,
    exceeds_context_window,
    may_have_cost,
    may_pass,
    read_message,
    read_retry_after,
    read_status,
)

FIRST_WAIT = 1.0
"""Seconds before the second request, and the most that jitter adds to a wait; each wait is twice
the one before.
"""

QUICK_WAITS = (0.3, 0.6)
"""Seconds before the first repetitions where there was no connection; where it was refused, there
are no others.
"""

LONGEST_WAIT = 60.0
"""The longest wait in seconds where the server names none: the window of most providers' rate
limits.
"""


@dataclass
class Call:
    """The call for one prompt: a request, and its repetitions.

    `tries` counts the requests, `wasted_cost` is what those cost that gave no reply (US dollars).
    `has_streamed` says whether a piece of the reply was passed on to the listener: then the call is
    not repeated, since the listener would hear two replies as one.

    Args:
        ask: sends one request (see `HttpLLM.ask`).
        endpoint: where the model is.
        body: the request, without address and key.
        messages: the prompt's.
        limits: the stage's.
    """

    ask: Callable[[Mapping[str, Any], float, Callable[[str], None] | None], Reply]
    endpoint: Endpoint
    body: Mapping[str, Any]
    messages: Sequence[Message]
    limits: Limits
    tries: int = 0
    wasted_cost: float = 0.0
    has_streamed: bool = False
    _listener: Callable[[str], None] | None = field(default_factory=current_listener)

    def run(self) -> Reply:
        """Send the request, and repeat it with exponential backoff and jitter, or when the server
        says.

        Where the server asks for a longer wait than `retry_seconds`, its error is raised at once: a
        request before that would be in vain. Raises whatever the last try raised, and Cancelled.
        """
        retrying = Retrying(
            stop=stop_after_attempt(self.limits.retries + 1) | self._exceeds_patience,
            wait=_compute_wait,
            retry=retry_if_exception(self._may_repeat),
            sleep=sleep,
            reraise=True,
        )
        reply: Reply = retrying(self._try)
        return reply

    def _exceeds_patience(self, state: RetryCallState) -> bool:
        refused = state.outcome is not None and isinstance(
            state.outcome.exception(), ConnectionRefused
        )
        if refused and state.attempt_number > len(QUICK_WAITS):
            return True
        return bool(state.idle_for + state.upcoming_sleep > self.limits.retry_seconds)

    def _may_repeat(self, error: BaseException) -> bool:
        return not self.has_streamed and (isinstance(error, EmptyReply) or may_pass(error))

    def _try(self) -> Reply:
        limits = self.limits
        with (
            limits.budget.reserve(self._max_cost()) as settle,
            limits.rate_limiter.slot(),
            deadline(limits.timeout),
        ):
            self.tries += 1
            try:
                reply = self.ask(
                    self.body, limits.timeout, self._pass_on if self._listener else None
                )
            except EmptyReply as error:
                settle(error.cost)
                self.wasted_cost += error.cost or 0.0
                raise
            except (Cancelled, KeyboardInterrupt):  # the model may have written until then
                settle(None)
                raise
            except Exception as error:
                if may_have_cost(error):
                    settle(None)
                raise
            settle(reply.cost)
            return reply

    def _pass_on(self, piece: str) -> None:
        assert self._listener is not None
        self.has_streamed = True
        self._listener(piece)

    def _max_cost(self) -> float:
        """US dollars; prices need not be known where there is no limit."""
        if self.limits.budget.limit is None:
            return 0.0
        prices = self.limits.find_prices()
        return (
            prices.compute_max_cost(self.messages, self.body.get("max_tokens")) if prices else inf
        )


def _compute_wait(state: RetryCallState) -> float:
    """Seconds until the next request; with jitter also after Retry-After, which told all who wait
    the same time.
    """
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, ConnectionFailed) and state.attempt_number <= len(QUICK_WAITS):
        return QUICK_WAITS[state.attempt_number - 1]
    retry_after = read_retry_after(error)
    wait = (
        wait_exponential(FIRST_WAIT, max=LONGEST_WAIT)(state)
        if retry_after is None
        else retry_after
    )
    return float(wait + wait_random(0, FIRST_WAIT)(state))


MAX_LENGTH = 300
"""The most characters of a server's error that a message has."""

_MAX_READ = 20_000  # characters of an error that are looked at
_PAGE = re.compile(r"<(?:!doctype|html|head|body)\b.*", re.IGNORECASE | re.DOTALL)
_MARKUP = re.compile(r"<(script|style)\b.*?(?:</\1>|$)|<[^>]*>?", re.IGNORECASE | re.DOTALL)

_EMPTY_REPLY = (
    "Try another model, or a bigger llm.max_tokens: some think before they write, and that counts."
)
_TOOL_CALL = (
    "It called a tool, and convrag offers it none: try another model, or a server without tools."
)
_EMPTY_REPLIES = {
    "content_filter": "The content filter of the provider withheld it: try another model.",
    "tool_calls": _TOOL_CALL,
    "function_call": _TOOL_CALL,
}
"""Finish reason of an empty reply -> what to do about it."""

_KINDS: dict[type[Exception], str] = {
    ConnectionFailed: "no connection",
    ConnectionRefused: "connection refused",
    EmptyReply: "empty",
    ReplyTooLong: "too long",
    UntrustedServer: "no trusted connection",
}
"""What is said of errors without an HTTP status."""


def explain_error(error: Exception, call: Call) -> LLMError:
    """Any error of a call -> an LLMError without secrets, whose message says what to do."""
    if isinstance(error, LLMError):
        return error
    endpoint, status = call.endpoint, read_status(error)
    address = endpoint.public_address()
    where = f" at {address}" if address else ""
    kind = f"status {status}" if status else _KINDS.get(type(error), type(error).__name__)
    original = shorten_error(_redact(read_message(error), call)).rstrip(
        "."
    )  # first: a secret that is cut is not found
    message = f"{endpoint.model}{where} gave no reply ({kind}): {original}. {_advise(error, status, call, where)}"
    return LLMError(
        _redact(message, call),
        provider=str(getattr(error, "llm_provider", "") or endpoint.provider),
        model=endpoint.model,
        status=status,
    )


def shorten_error(text: str) -> str:
    """An error on one line of at most `MAX_LENGTH` characters; of an HTML page in it, the words."""
    text = _PAGE.sub(lambda page: _MARKUP.sub(" ", page[0]), text[:_MAX_READ])
    line = " ".join(text.split()) or "a page without text"
    return line if len(line) <= MAX_LENGTH else f"{line[:MAX_LENGTH].rstrip()} ..."


def _redact(message: str, call: Call) -> str:
    endpoint = call.endpoint
    return redact(
        message, endpoint.api_key(), *find_secret_values(call.body), address=endpoint.address()
    )


def _advise(error: Exception, status: int | None, call: Call, where: str) -> str:
    limits, endpoint = call.limits, call.endpoint
    if call.has_streamed:
        return "A part of it was shown already, so it was not asked again."
    if isinstance(error, ReplyTooLong):
        return f"No more of it is read, and it is not asked again. Is there a language model{where} (llm.api_base)?"
    if isinstance(error, ConnectionRefused):
        return f"Start the model server{where}, or set llm.api_base, and ask again: what was answered is kept."
    if isinstance(error, UntrustedServer):
        return "SSL_CERT_FILE names a file of certificates to trust instead of the usual ones."
    if isinstance(error, EmptyReply):
        return _EMPTY_REPLIES.get(error.finish_reason, _EMPTY_REPLY)
    if exceeds_context_window(error):
        return "Send less: fewer or shorter passages (top_n), less history, or a smaller llm.max_tokens."
    if "LLM Provider NOT provided" in str(error):
        return "Write llm.model as provider/model, such as openai/gpt-4o."
    if status in (401, 403):
        variable = (
            endpoint.api_key_env or KEY_VARIABLES.get(endpoint.provider, ("of this provider",))[0]
        )
        return (
            f"Check the key in the environment variable {variable} (llm.api_key_env names another)."
        )
    if status == 404:
        return "Check llm.model and llm.api_base."
    if status == 408:
        return f"It had llm.timeout={limits.timeout:g} seconds for each try: give it more, or ask for fewer tokens."
    retry_after = read_retry_after(error)
    if retry_after is not None and retry_after > limits.retry_seconds:
        return f"It asks for {retry_after:g} s of patience, and llm.retry_seconds={limits.retry_seconds:g} allows less."
    if status == 429:
        return "Its limit is reached: set llm.requests_per_minute or llm.concurrency, or check the account's quota."
    if may_pass(error):
        return f"Is the server{where} running and well? Otherwise try again later: what was answered is kept."
    return "Check llm.model and the sampling parameters (null leaves one out)."
