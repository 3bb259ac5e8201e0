"""Explains why a call failed, without secrets, and says what to do about it."""

import re

from convrag import LLMError
from convrag.sdk.errors import CutReply
from convrag.sdk.secrets import redact
from convrag_llms.call import Call
from convrag_llms.endpoint import KEY_VARIABLES, Endpoint
from convrag_llms.errors import (
    ConnectionFailed,
    ConnectionRefused,
    EmptyReply,
    ReplyTooLong,
    UntrustedServer,
    exceeds_context_window,
    may_pass,
    read_message,
    read_retry_after,
    read_status,
)
from convrag_llms.request_body import find_secret_values

MAX_LENGTH = 300
"""The most characters of a server's error in a message."""

MAX_REASON = 100
"""The most characters of a server's error in a line that says why a request waits."""

_MAX_READ = 20_000
"""Characters of an error that are looked at."""

_PAGE = re.compile(r"<(?:!doctype|html|head|body)\b.*", re.IGNORECASE | re.DOTALL)
_MARKUP = re.compile(r"<(script|style)\b.*?(?:</\1>|$)|<[^>]*>?", re.IGNORECASE | re.DOTALL)

_EMPTY_REPLY = (
    "Try another model, or a bigger llm.max_tokens: some think before they write, and that counts."
)
_THOUGHTS_ALONE = "raise llm.max_tokens, or set llm.extra.reasoning_effort=none"
_TOOL_CALL = (
    "It called a tool, and convrag offers it none: try another model, or a server without tools."
)
_EMPTY_REPLIES = {
    "content_filter": "The content filter of the provider withheld it: try another model.",
    "length": "It ended at max_tokens before it had any text: give it a bigger llm.max_tokens.",
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
"""Errors without an HTTP status -> how a message names them."""


def explain_error(error: Exception, call: Call) -> LLMError:
    """Make an LLMError of any error of a call: without secrets, with advice on what to do."""
    if isinstance(error, LLMError):
        return error
    endpoint = call.endpoint
    status = read_status(error)
    address = endpoint.public_address()
    where = f" at {address}" if address else ""
    kind, original = describe_error(error, call)
    advice = _advise(error, status, call, where)
    message = _redact(f"{endpoint.model}{where} gave no reply ({kind}): {original}{advice}", call)
    provider = str(getattr(error, "llm_provider", "") or endpoint.provider)
    if isinstance(error, EmptyReply) and error.finish_reason == "length":
        return CutReply(message, tokens=error.tokens, provider=provider, model=endpoint.model)
    return LLMError(message, provider=provider, model=endpoint.model, status=status)


def explain_wait(error: BaseException, call: Call, seconds: float) -> str:
    """Say that a request waits for its repetition, and why, in one line without secrets."""
    assert isinstance(error, Exception)
    kind, original = describe_error(error, call)
    reason = original if len(original) <= MAX_REASON else f"{original[:MAX_REASON].rstrip()} ..."
    return f"{call.endpoint.model} is asked again in {seconds:.0f} s ({kind}: {reason})"


def describe_error(error: Exception, call: Call) -> tuple[str, str]:
    """Return the kind of an error ("status 429"), and its message in a line without secrets."""
    status = read_status(error)
    kind = f"status {status}" if status else _KINDS.get(type(error), type(error).__name__)
    # Redacted before it is shortened: a secret that is cut would not be found.
    return kind, shorten_error(_redact(read_message(error), call)).rstrip(".")


def shorten_error(text: str) -> str:
    """Shorten an error to a line of at most `MAX_LENGTH` characters; an HTML page to its words."""
    text = _PAGE.sub(lambda page: _MARKUP.sub(" ", page[0]), text[:_MAX_READ])
    line = " ".join(text.split()) or "a page without text"
    return line if len(line) <= MAX_LENGTH else f"{line[:MAX_LENGTH].rstrip()} ..."


def _redact(message: str, call: Call) -> str:
    endpoint = call.endpoint
    return redact(
        message, endpoint.api_key(), *find_secret_values(call.body), address=endpoint.address()
    )


def _advise(error: Exception, status: int | None, call: Call, where: str) -> str:
    """Say what to do about an error, as what follows its message."""
    if isinstance(error, EmptyReply) and error.thought_tokens:
        return f": {_THOUGHTS_ALONE}{_name_stage_limit(call)}"
    if call.has_streamed:
        return ". A part of it was shown already, so it was not asked again."
    advice = (
        _advise_by_kind(error, where)
        or _advise_by_status(error, status, call)
        or _advise_by_chance(error, where)
    )
    return f". {advice}"


def _name_stage_limit(call: Call) -> str:
    """Say that the stage has a max_tokens of its own, where it has one."""
    if call.stage_max_tokens is None:
        return ""
    return f" (this stage has max_tokens={call.stage_max_tokens} of its own)"


def _advise_by_kind(error: Exception, where: str) -> str:
    """Say what to do about an error of a known kind; empty for others."""
    if isinstance(error, ReplyTooLong):
        return (
            "No more of it is read, and it is not asked again. Is there a language "
            f"model{where} (llm.api_base)?"
        )
    if isinstance(error, ConnectionRefused):
        return (
            f"Start the model server{where}, or set llm.api_base, and ask again: what was "
            "answered is kept."
        )
    if isinstance(error, UntrustedServer):
        return "SSL_CERT_FILE names a file of certificates to trust instead of the usual ones."
    if isinstance(error, EmptyReply):
        return _EMPTY_REPLIES.get(error.finish_reason, _EMPTY_REPLY)
    if exceeds_context_window(error):
        return (
            "Send less: fewer or shorter passages (top_n), less history, or a smaller "
            "llm.max_tokens."
        )
    if "LLM Provider NOT provided" in str(error):
        return "Write llm.model as provider/model, such as openai/gpt-4o."
    return ""


def _advise_by_status(error: Exception, status: int | None, call: Call) -> str:
    """Say what to do about an error with a known HTTP status; empty for others."""
    limits = call.limits
    if status in (401, 403):
        variable = _name_key_variable(call.endpoint)
        return (
            f"Check the key in the environment variable {variable} (llm.api_key_env names another)."
        )
    if status == 404:
        return "Check llm.model and llm.api_base."
    if status == 408:
        return (
            f"It had llm.timeout={limits.timeout:g} seconds for each try: give it more, or ask "
            "for fewer tokens."
        )
    retry_after = read_retry_after(error)
    if retry_after is not None and retry_after > limits.retry_seconds:
        return (
            f"It asks for {retry_after:g} s of patience, and "
            f"llm.retry_seconds={limits.retry_seconds:g} allows less."
        )
    if status == 429:
        return (
            "Its limit is reached: set llm.requests_per_minute or llm.concurrency, or check the "
            "account's quota."
        )
    return ""


def _advise_by_chance(error: Exception, where: str) -> str:
    """Say whether to try again."""
    if may_pass(error):
        return (
            f"Is the server{where} running and well? Otherwise try again later: what was answered "
            "is kept."
        )
    return "Check llm.model and the sampling parameters (null leaves one out)."


def _name_key_variable(endpoint: Endpoint) -> str:
    """Name the environment variable that the key comes from."""
    if endpoint.api_key_env:
        return endpoint.api_key_env
    names = KEY_VARIABLES.get(endpoint.provider, ("of this provider",))
    return names[0]
