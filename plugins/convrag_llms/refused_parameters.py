"""Parameters that a model at an address refuses: learnt from its errors, and not sent again.

    refused = find_refused_parameters("gpt-5", "https://api.openai.com/v1")
    reply = refused.ask(body, send)  # `send` takes the body; it is called again after a refusal

What was learnt counts for all stages of the process. `describe` says it in the summary of a run.
"""

import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from convrag_llms.errors import exceeds_context_window, read_message, read_status

log = logging.getLogger(__name__)

T = TypeVar("T")

_STATUSES = (400, 422)
"""The statuses of a request that is refused as it is (422: FastAPI, Mistral, TEI)."""

_NEEDED = frozenset(
    {
        *("model", "messages", "stream", "tools", "tool_choice"),
        *("input", "query", "documents", "texts"),
        *("extra_headers", "extra_body"),
    }
)
"""Parameters without which a request would not be the same request."""

_REFUSAL = re.compile(
    r"unsupported|not supported|(?:does not|doesn['’]t|do not|don['’]t) support"
    r"|not (?:permitted|allowed|available|enabled|compatible)|extra (?:inputs|fields)|extraneous"
    r"|unknown[ _](?:name|field|parameter|argument)|unrecognized|unexpected|deprecated|no longer"
    r"|cannot both|only the default|may only be set|incompatible",
    re.IGNORECASE,
)
"""Words by which servers say that they do not take a parameter, or not this value of it."""

_STRUCTURE_STATUSES = (400, 422, 500, 501)
"""The statuses of a request whose form of the reply is refused; some servers fail at it."""

_STRUCTURE = re.compile(
    r"response[_ ]format|json[_ ]schema|grammar|guided|structured output", re.IGNORECASE
)
"""Words of errors about the form of a reply; servers name it in their own ways."""

_INSTEAD = re.compile(r"\buse\s+['\"`]?([a-z][a-z0-9]*_[a-z0-9_]+)['\"`]?\s+instead", re.IGNORECASE)
"""The parameter that an error asks for: "Use 'max_completion_tokens' instead."."""

_MAX_READ = 20_000
"""Characters of an error's message that are searched."""


class RefusedParameters:
    """The parameters that a model at an address has refused in this process.

    Args:
        model: the name of the model.
        address: of its server, without secrets; empty for the provider's own.
    """

    def __init__(self, model: str, address: str) -> None:
        self.model = model
        self.address = address
        self._replacements: dict[str, str] = {}
        self._lock = threading.Lock()

    def __contains__(self, name: object) -> bool:
        """Whether the model has refused a parameter."""
        return name in self._replacements

    def ask(self, body: Mapping[str, Any], send: Callable[[dict[str, Any]], T]) -> T:
        """Send a request as the model takes it; again at once after each new refusal.

        Args:
            body: the request with all its parameters.
            send: sends a request, and returns the reply to it.

        Raises:
            Exception: what `send` raises, unless it is a refusal of a parameter.
        """
        while True:
            request = self.adapt(body)
            try:
                return send(request)
            except Exception as error:
                if not self.learn(error, request):
                    raise

    def adapt(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Copy a request without what the model refuses, or with what it asks for instead."""
        adapted: dict[str, Any] = {}
        for name, value in body.items():
            sent_as = self._find_accepted_name(name)
            if sent_as == name:
                adapted[name] = value
            elif sent_as:
                adapted.setdefault(sent_as, value)
        if "logprobs" not in adapted:
            adapted.pop("top_logprobs", None)  # the one makes no sense without the other
        return adapted

    def learn(self, error: Exception, request: Mapping[str, Any]) -> bool:
        """Learn from an error; return whether the request may be sent again without a parameter.

        Args:
            error: of the request.
            request: as it was sent.
        """
        name = find_refused_name(error, request)
        if not name:
            return False
        with self._lock:
            if name not in self._replacements:
                self._replacements[name] = self._find_replacement(error, request)
                log.warning("%s", self._describe_one(name))
        return True

    def describe(self) -> list[str]:
        """Describe each parameter that is left out, in a sentence."""
        with self._lock:
            return [self._describe_one(name) for name in self._replacements]

    def _find_accepted_name(self, name: str) -> str:
        """Find the name under which a parameter is sent; empty where it is left out."""
        while name in self._replacements:
            name = self._replacements[name]
        return name

    def _find_replacement(self, error: Exception, request: Mapping[str, Any]) -> str:
        """Find the parameter that an error asks for instead; empty without one.

        One that was sent, or refused before, is none: names must not replace each other in turn.
        """
        match = _INSTEAD.search(read_message(error)[:_MAX_READ])
        name = match[1] if match else ""
        known = {*request, *self._replacements, *_NEEDED}
        return "" if name in known else name

    def _describe_one(self, name: str) -> str:
        where = f" at {self.address}" if self.address else ""
        instead = self._replacements[name]
        if instead:
            return f"{self.model}{where} refuses {name}: {instead} is sent instead."
        return f"{self.model}{where} refuses {name}: it is left out of requests."


_known: dict[tuple[str, str], RefusedParameters] = {}
_lock = threading.Lock()


def find_refused_parameters(model: str, address: str) -> RefusedParameters:
    """Return what this process knows of a model at an address; the same object for all stages."""
    with _lock:
        return _known.setdefault((model, address), RefusedParameters(model, address))


def forget_refused_parameters() -> None:
    """Forget all models; for tests, whose servers take the same addresses again."""
    with _lock:
        _known.clear()


def find_refused_name(error: Exception, request: Mapping[str, Any]) -> str:
    """Find the parameter of a request that an error refuses; empty for any other error.

    Args:
        error: of the request.
        request: as it was sent.
    """
    status = read_status(error)
    message = read_message(error)[:_MAX_READ]
    may_be_structure = "response_format" in request and status in _STRUCTURE_STATUSES
    if may_be_structure and _STRUCTURE.search(message):
        return "response_format"
    if status not in _STATUSES or exceeds_context_window(error):
        return ""
    if not _REFUSAL.search(message):
        return ""
    removable = request.keys() - _NEEDED
    parameter = str(getattr(error, "param", "") or "")
    if parameter in removable:
        return parameter
    named = list(_list_names(message, removable))
    if not named:
        return ""
    # "`temperature` and `top_p` cannot both be specified": the first one is the one that matters.
    return named[-1] if "cannot both" in message else named[0]


def _list_names(message: str, names: set[str]) -> Iterator[str]:
    """Yield those of the names that a message has as words, in the message's order."""
    for match in re.finditer(r"[A-Za-z][A-Za-z0-9_]*", message):
        if match[0] in names:
            yield match[0]
