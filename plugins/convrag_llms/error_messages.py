"""Error messages: what went wrong with a call, and what to do about it."""

from __future__ import annotations

from convrag import LLMError
from convrag.sdk.secrets import redact
from convrag_llms.call import Call
from convrag_llms.context_window import exceeds_context_window, parse_token_counts
from convrag_llms.error_text import shorten_error
from convrag_llms.http_errors import (
    ConnectionFailed,
    UntrustedServer,
    may_pass,
    read_message,
    read_retry_after,
    read_status,
)
from convrag_llms.providers import KEY_VARIABLES
from convrag_llms.redaction import find_secret_values
from convrag_llms.reply import EmptyReply
from convrag_llms.reply_limit import ReplyTooLong

_EMPTY_REPLY = "Try another model, or a bigger llm.max_tokens: some think before they write, and that counts."
_TOOL_CALL = "It called a tool, and convrag offers it none: try another model, or a server without tools."
_EMPTY_REPLIES = {
    "content_filter": "The content filter of the provider withheld it: try another model.",
    "tool_calls": _TOOL_CALL,
    "function_call": _TOOL_CALL,
}
"""Finish reason of an empty reply -> what to do about it."""

_KINDS: dict[type[Exception], str] = {
    ConnectionFailed: "no connection",
    EmptyReply: "empty",
    ReplyTooLong: "too long",
    UntrustedServer: "no trusted connection",
}
"""What is said of errors without an HTTP status."""


def explain_error(error: Exception, call: Call) -> LLMError:
    """Any error of a call -> an LLMError without secrets, whose message says what to do."""
    if isinstance(error, LLMError):
        return error
    endpoint, status = call.server.endpoint, read_status(error)
    address = endpoint.public_address()
    where = f" at {address}" if address else ""
    kind = f"status {status}" if status else _KINDS.get(type(error), type(error).__name__)
    original = shorten_error(_redact(read_message(error), call)).rstrip(".")  # first: a secret that is cut is not found
    message = f"{endpoint.model}{where} gave no reply ({kind}): {original}. {_advise(error, status, call, where)}"
    return LLMError(
        _redact(message, call),
        provider=str(getattr(error, "llm_provider", "") or endpoint.provider),
        model=endpoint.model,
        status=status,
    )


def _redact(message: str, call: Call) -> str:
    endpoint = call.server.endpoint
    return redact(message, endpoint.api_key(), *find_secret_values(call.body), address=endpoint.address())


def _advise(error: Exception, status: int | None, call: Call, where: str) -> str:
    limits = call.limits
    if call.has_streamed:
        return "A part of it was shown already, so it was not asked again."
    if isinstance(error, ReplyTooLong):
        return f"No more of it is read, and it is not asked again. Is there a language model{where} (llm.api_base)?"
    if isinstance(error, UntrustedServer):
        return "SSL_CERT_FILE names a file of certificates to trust instead of the usual ones."
    if isinstance(error, EmptyReply):
        return _EMPTY_REPLIES.get(error.finish_reason, _EMPTY_REPLY)
    if exceeds_context_window(error):
        less = "fewer or shorter passages (top_n), less history, or a smaller llm.max_tokens"
        return f"{_describe_excess(error, call)}Send less: {less}."
    if "LLM Provider NOT provided" in str(error):
        return "Write llm.model as provider/model, such as openai/gpt-4o."
    if status in (401, 403):
        endpoint = call.server.endpoint
        variable = endpoint.api_key_env or KEY_VARIABLES.get(endpoint.provider, ("of this provider",))[0]
        return f"Check the key in the environment variable {variable} (llm.api_key_env names another)."
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


def _describe_excess(error: Exception, call: Call) -> str:
    """By how many tokens the request is too long: as the server says, or as counted here; else empty."""
    if counts := parse_token_counts(str(error)):
        requested, limit = counts
        excess = f"{requested - limit:,} tokens too long ({requested:,} of {limit:,})"
        return f"The prompt and the room for the reply are {excess}. "
    limit_here = call.server.client.find_max_input_tokens()
    if limit_here is None:
        return ""
    count = call.server.client.count_tokens("\n".join(message.content for message in call.messages))
    if count <= limit_here:
        return ""
    return f"The prompt is about {count - limit_here:,} tokens too long ({count:,} of {limit_here:,}, counted here). "
