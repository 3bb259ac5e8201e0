"""Sending a request to an engine: timeouts, retries, a pause between requests, and errors."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from convrag import ConvragError
from convrag.sdk.cancellation import sleep
from convrag.sdk.retry_after import parse_retry_after
from convrag.sdk.secrets import redact, redact_address

if TYPE_CHECKING:
    import urllib3
    from tenacity import RetryCallState

    from convrag.sdk.http_pools import HostPools

MAX_BYTES = 5 * 2**20
"""The longest reply, after decompression."""

FIRST_WAIT = 1.0
"""Seconds before the second request; each wait is twice the one before."""

LONGEST_WAIT = 30.0

_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
"""The statuses after which the same request may succeed."""

_SHOWN = 200
"""Characters of a server's error that are shown."""


class SearchFailed(ConvragError):
    """A search on the web has failed; the message says why, without a key."""


@dataclass(frozen=True)
class Request:
    """A request of an engine.

    Args:
        method: GET or POST.
        url: with its parameters.
        headers: with names in lower case; they may hold a key.
        body: of a POST.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = b""


class Failure(Exception):
    """A request that failed once.

    Args:
        message: of the server, or of the library.
        status: the HTTP status; 0 where there was no answer.
        wait: seconds that the server asks for; None where it names none.
    """

    def __init__(self, message: str, status: int = 0, wait: float | None = None) -> None:
        self.status = status
        self.wait = wait
        super().__init__(message)

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status == 0 or self.status in _TRANSIENT


class Pace:
    """A pause between the requests of all threads.

    Args:
        interval: the least seconds between the beginnings of two requests.
    """

    def __init__(self, interval: float) -> None:
        self.interval = interval
        self._lock = threading.Lock()
        self._next = 0.0

    def wait(self) -> None:
        """Wait until the next request may begin. Raises Cancelled."""
        with self._lock:
            now = time.monotonic()
            start = max(now, self._next)
            self._next = start + self.interval
        sleep(start - now)


@dataclass(frozen=True)
class Limits:
    """How long a request is tried.

    Args:
        timeout: seconds for each try.
        retries: tries after the first.
        retry_seconds: the most seconds of all waits together.
    """

    timeout: float
    retries: int
    retry_seconds: float


def send(request: Request, limits: Limits, pace: Pace) -> bytes:
    """Send a request, again where that may help, and return the body of its reply.

    A redirect is an error: it could take the key elsewhere.

    Raises:
        Failure: of the last try.
    """
    from tenacity import Retrying, retry_if_exception, stop_after_attempt

    def exceeds_patience(state: RetryCallState) -> bool:
        return bool(state.idle_for + state.upcoming_sleep > limits.retry_seconds)

    retrying = Retrying(
        stop=stop_after_attempt(limits.retries + 1) | exceeds_patience,
        wait=_compute_wait,
        retry=retry_if_exception(lambda error: isinstance(error, Failure) and error.may_pass),
        sleep=sleep,
        reraise=True,
    )

    def try_once() -> bytes:
        pace.wait()
        return send_once(request, limits.timeout)

    content: bytes = retrying(try_once)
    return content


def send_once(request: Request, timeout: float) -> bytes:
    """Send a request once. Raises Failure."""
    import urllib3

    try:
        pool = find_pools().find(request.url)
        response = pool.urlopen(
            request.method,
            request.url,
            body=request.body or None,
            headers={**request.headers, "user-agent": "convrag", "accept-encoding": "gzip"},
            retries=False,
            redirect=False,
            timeout=urllib3.Timeout(total=timeout),
            preload_content=False,
        )
    except urllib3.exceptions.HTTPError as error:
        raise Failure(f"it does not answer ({type(error).__name__})") from None
    content = read_body(response, time.monotonic() + timeout)
    if response.status != 200:
        raise Failure(_read_message(content), response.status, _read_wait(response.headers))
    return content


def read_body(response: urllib3.BaseHTTPResponse, deadline: float) -> bytes:
    """Read a body until the limit of its length, within the deadline. Raises Failure."""
    import urllib3

    pieces = []
    length = 0
    try:
        while piece := response.read1(2**16, decode_content=True):
            length += len(piece)
            if length > MAX_BYTES:
                raise Failure(f"it sent more than {MAX_BYTES:,} bytes", 413)
            if time.monotonic() > deadline:
                raise Failure("its reply took too long", 408)
            pieces.append(piece)
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise Failure(f"its reply broke off ({type(error).__name__})") from None
    finally:
        response.close()
    return b"".join(pieces)


def explain_failure(failure: Failure, name: str, address: str, advice: str) -> SearchFailed:
    """Make the error of a search: what the server said, without keys, and what to do."""
    status = f"HTTP {failure.status}: " if failure.status else ""
    message = redact(f"{status}{failure}", address=address)
    place = redact_address(address)
    return SearchFailed(f"{name} at {place} found nothing: {message}. {advice}".rstrip(" ."))


@cache
def find_pools() -> HostPools:
    """Make the pools of this process, at the first request."""
    from convrag.sdk.http_pools import HostPools

    return HostPools()


def _compute_wait(state: RetryCallState) -> float:
    """Compute the seconds until the next try: what the server asks for, else twice the last."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.wait if isinstance(error, Failure) else None
    if asked is None:
        asked = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (state.attempt_number - 1))
    return asked + random.uniform(0, 0.5)


def _read_wait(headers: Mapping[str, str]) -> float | None:
    """Read when the server wants to be asked again: Retry-After, or Brave's X-RateLimit-Reset.

    The latter lists the seconds until each limit is reset, that of a second first.
    """
    retry_after = headers.get("retry-after")
    if retry_after:
        return parse_retry_after(retry_after)
    reset = headers.get("x-ratelimit-reset", "").partition(",")[0].strip()
    return float(reset) if reset.isdigit() else None


def _read_message(content: bytes) -> str:
    """Read the message of an error, whatever its form: Brave's, Tavily's, or a page."""
    import json

    text = " ".join(content[: 4 * _SHOWN].decode(errors="replace").split())
    try:
        data: Any = json.loads(content)
    except (ValueError, RecursionError):
        return text[:_SHOWN]
    for _ in range(3):
        if not isinstance(data, dict):
            break
        data = data.get("error") or data.get("detail") or data.get("message") or ""
    return str(data or text)[:_SHOWN]
