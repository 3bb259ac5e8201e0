"""`llm=openai_compatible`, and what a server sends in OpenAI's protocol."""

from __future__ import annotations

import ipaddress
import json
import os
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from convrag import LLMError
from convrag_llms.endpoint import KEY_VARIABLES
from convrag_llms.http_llm import HttpLLM, halve_cost
from convrag_llms.limits import TokenPrices, compute_listed_cost, find_listed_prices
from convrag_llms.reply import (
    HttpError,
    Reply,
    StreamedReply,
    TokenCounts,
    list_choices,
    make_reply,
    read_reply,
)

if TYPE_CHECKING:
    from convrag_llms.batch_protocols import BatchProtocol
    from convrag_llms.connections import Response


PREFIX = "openai/"
"""Stands before the server's own name of a model: "openai/qwen"."""

_OPENAI = "https://api.openai.com/v1"  # where no address is given
_NOT_SENT = ("input_cost_per_token", "output_cost_per_token", "extra_headers", "extra_body")
"""What is given with a request's parameters, and is none."""

_TOKEN_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[^\W\d_]+|[^\w\s]+|_+|\n+|[^\S\n]{2,}", re.UNICODE)
"""What tokenizers of the GPT family split a text into first; a single space belongs to the word
after it.
"""


class OpenAICompatible(HttpLLM):
    """Ask a server that speaks the OpenAI protocol: vLLM, SGLang, llama.cpp, Ollama, transformers serve, a gateway.

    Requests go there directly, at a seventh of the processor time that they take through litellm
    (streamed, a fifteenth). Requests that may succeed later (limits reached, timeouts, server
    errors, cut-off or empty replies) are repeated with exponential backoff, or when the server says
    (Retry-After). A stage that asks may override temperature, top_p, max_tokens, seed and stop.

    Tokens that the server does not count are estimated: a token for up to 7 letters of a word, 3
    digits, 2 signs, or 3 bytes of other scripts. A server on this machine or in a private network
    costs nothing unless `extra` has prices; any other costs what its provider lists for the model
    (the package genai-prices), if it is listed there.

    Args:
        model: as the server names it; openai/ before the name is left out.
        api_base: the server's address. None is OpenAI's own, or what OPENAI_BASE_URL says. It is
            written into the run's files: one with a password goes into a variable that api_base_env
            names.
        api_key_env: the NAME of the environment variable that holds the key. None sends no key
            (OPENAI_API_KEY, where api_base is None).
        extra: what else the server takes, by name (top_k, guided_json, ...), sent as it is.
            extra_headers are sent as headers. Prices go here as well: input_cost_per_token and
            output_cost_per_token, in US dollars.

    Raises:
        ConfigError: a parameter makes no sense, or would put a key into the configuration.
    """

    env_vars = ("OPENAI_API_KEY",)
    prefix = PREFIX

    def ask(
        self, body: Mapping[str, Any], timeout: float, on_piece: Callable[[str], None] | None
    ) -> Reply:
        """Send one request. Raises HttpError and ConnectionFailed, too."""
        from convrag_llms.connections import CONNECTIONS

        url, headers = self._find_target("/chat/completions")
        headers |= {"content-type": "application/json"}
        headers |= {
            name.lower(): value for name, value in (body.get("extra_headers") or {}).items()
        }
        sent = {name: value for name, value in body.items() if name not in _NOT_SENT}
        sent |= {"model": self._model_name(), **(body.get("extra_body") or {})}
        if self.batch and not on_piece:
            data = self._batches.ask(sent)
            return halve_cost(
                read_reply(data, self.endpoint.model, partial(self._compute_cost, body))
            )
        if on_piece:
            sent |= {"stream": True, "stream_options": {"include_usage": True}}
        with closing(CONNECTIONS.send("POST", url, json.dumps(sent).encode(), headers)) as response:
            if response.status >= 300:
                raise read_error(response)
            if on_piece:
                return self._read_stream(response, body, on_piece)
            return self._read_whole(response, body)

    def batch_protocol(self) -> BatchProtocol:
        """OpenAI's."""
        from convrag_llms.batch_protocols import OpenAIBatches

        return OpenAIBatches(self._find_target)

    def count_tokens(self, text: str) -> int:
        """An estimate: which tokenizer the server has is not known."""
        return estimate_tokens(text)

    def find_prices(self) -> TokenPrices | None:
        """The user's prices; else nothing for a server on this machine or in a private network;
        else listed ones.
        """
        if self.given_prices or is_private(self._find_address()):
            return self.given_prices or TokenPrices(0.0, 0.0, None)
        return find_listed_prices(self._model_name(), self._find_address())

    def _model_name(self) -> str:
        return self.endpoint.model.removeprefix(PREFIX)

    def _find_address(self) -> str:
        return self.endpoint.address() or self.endpoint.address_in_environment() or _OPENAI

    def _find_target(self, end: str) -> tuple[str, dict[str, str]]:
        """Find the URL, and the headers that say who asks."""
        parts = urlsplit(self._find_address())
        host, path = parts.netloc.rpartition("@")[2], f"{parts.path.rstrip('/')}{end}"
        url = urlunsplit((parts.scheme, host, path, parts.query, ""))
        if parts.username:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            return url, {"authorization": f"Basic {b64encode(user.encode()).decode()}"}
        key = self.endpoint.api_key()
        if key is None and not self.endpoint.is_self_hosted():
            key = os.environ.get(KEY_VARIABLES["openai"][0])
        if key and not key.strip().isascii():
            message = (
                f"the key for {self.endpoint.model} has characters that no key has: export it again"
            )
            raise LLMError(message, provider=self.endpoint.provider, model=self.endpoint.model)
        return url, {"authorization": f"Bearer {key.strip()}"} if key else {}

    def _read_whole(self, response: Response, body: Mapping[str, Any]) -> Reply:
        data = parse_object(b"".join(response.read_pieces()), response.headers)
        if not list_choices(data) and (error := find_error(data)):
            raise error
        return read_reply(data, self.endpoint.model, partial(self._compute_cost, body))

    def _read_stream(
        self, response: Response, body: Mapping[str, Any], on_piece: Callable[[str], None]
    ) -> Reply:
        streamed = StreamedReply(on_piece, self.endpoint.model)
        streamed.read(read_chunks(response))
        tokens = TokenCounts.read(streamed.usage)
        cost = self._compute_cost(body, tokens, streamed.text)
        return make_reply(streamed.text, streamed.finish_reason, tokens, cost, streamed.model)

    def _compute_cost(
        self, body: Mapping[str, Any], tokens: TokenCounts, text: Any
    ) -> float | None:
        """US dollars; None where no price is known. Tokens that the server does not count are
        estimated.
        """
        asked = tokens.prompt or sum(
            estimate_tokens(str(message["content"])) for message in body["messages"]
        )
        written = tokens.completion or (estimate_tokens(text) if isinstance(text, str) else 0)
        if prices := self.given_prices:
            return asked * prices.input_price + written * prices.output_price
        if is_private(address := self._find_address()):
            return 0.0
        return compute_listed_cost(self._model_name(), address, asked, written, tokens.cached)


def is_private(address: str) -> bool:
    """Whether an address belongs to this machine or to a private network: a name without a dot, or
    a private IP.
    """
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".localhost"))


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: a token for up to 7 letters of a word, 3 digits, 2 signs, or 3
    bytes of others.
    """
    return sum(map(_count_tokens, _TOKEN_PIECE.findall(text))) or int(bool(text))


def _count_tokens(piece: str) -> int:
    if not piece.isascii():
        return -(-len(piece.encode(errors="replace")) // 3)
    if piece[0].isalpha():
        return -(-len(piece) // 7)  # most English words are one token, long ones two or three
    if piece[0].isdigit():
        return -(-len(piece) // 3)
    return 1 if piece.isspace() else -(-len(piece) // 2)


def read_events(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the data of each event of a stream that arrives in pieces of any size; servers send it
    in one line.
    """
    started: list[bytes] = []
    for piece in chain(pieces, [b"\n"]):
        *ended, rest = piece.split(b"\n")
        for part in ended:
            line, started = (
                b"".join([*started, part]),
                [],
            )  # joined once, when it ends: it may be long
            if line.startswith(b"data:"):
                yield line.removeprefix(b"data:").strip()
        started.append(rest)


def read_chunks(response: Response) -> Iterator[dict[str, Any]]:
    """Yield what the events of a streamed reply hold. Raises HttpError for one that is an error, or
    no JSON object.
    """
    for data in read_events(response.read_pieces()):
        if data == b"[DONE]":
            response.drain()
            return
        chunk = parse_object(data, response.headers)
        if "choices" not in chunk and (error := find_error(chunk)):
            raise error
        yield chunk


def parse_object(data: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    """Parse a JSON object. Raises HttpError (502) for anything else."""
    parsed = _parse(data)
    if not isinstance(parsed, dict):
        raise HttpError(
            502, f"what it sent is no JSON object: {data.decode(errors='replace')}", headers
        )
    return parsed


def read_error(response: Response) -> HttpError:
    """The error that a response with an error's status is."""
    data = b"".join(response.read_pieces())
    message = (
        _find_message(_parse(data))
        or data.decode(errors="replace").strip()
        or "it says nothing more"
    )
    return HttpError(response.status, message, response.headers)


def find_error(data: Mapping[str, Any]) -> HttpError | None:
    """The error that came in place of a reply, with the status that it names; None where the data
    are none.
    """
    if (message := _find_message(data)) is None:
        return None
    error = data.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return HttpError(code if isinstance(code, int) and 400 <= code <= 599 else 502, message)


def _parse(data: bytes) -> Any:
    """Parse JSON; None for what is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _find_message(data: Any) -> str | None:
    """The message of an error in the protocol's form, or in vLLM's or FastAPI's; None where there
    is none.
    """
    if not isinstance(data, dict):
        return None
    error = data.get("error", data.get("message", data.get("detail")))
    if not isinstance(error, dict):
        return None if error is None else str(error)
    code = error.get("code")
    said = str(error.get("message") or error)
    return f"{said} ({code})" if isinstance(code, str) and code and code not in said else said
