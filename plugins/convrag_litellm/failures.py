"""Says what went wrong with a request, and what to do about it."""

from __future__ import annotations

from convrag import LLMError
from convrag_litellm import _litellm
from convrag_litellm.call import Call
from convrag_litellm.providers import KEYS
from convrag_litellm.reply import EmptyReply
from convrag_litellm.retrying import is_too_long, status_of, told_to_wait
from convrag_litellm.secrets import scrub
from convrag_litellm.too_long import asked_and_limit


def explain(error: Exception, call: Call) -> LLMError:
    """Any error of a call -> an LLMError without secrets."""
    if isinstance(error, LLMError):
        return error
    server, status = call.server, status_of(error)
    address = server.public_address()
    where = f" at {address}" if address else ""
    kind = f"status {status}" if status else type(error).__name__
    said = " ".join(str(error).split()).rstrip(".")
    message = f"{server.model}{where} gave no reply ({kind}): {said}. {_advice(error, status, call, where)}"
    return LLMError(
        scrub(message, server.key(), address=server.address()),
        provider=str(getattr(error, "llm_provider", "") or server.provider),
        model=server.model,
        status=status,
    )


def _advice(error: Exception, status: int | None, call: Call, where: str) -> str:
    limits = call.limits
    if call.heard:
        return "A part of it was shown already, so it was not asked again."
    if isinstance(error, EmptyReply):
        return "Try another model, or a bigger llm.max_tokens: some think before they write, and that counts."
    if is_too_long(error):
        less = "fewer or shorter passages (top_n), less history, or a smaller llm.max_tokens"
        return f"{_excess(error, call)}Send less: {less}."
    if "LLM Provider NOT provided" in str(error):
        return "Write llm.model as provider/model, such as openai/gpt-4o."
    if status in (401, 403):
        variable = call.server.api_key_env or KEYS.get(call.server.provider, ("of this provider",))[0]
        return f"Check the key in the environment variable {variable} (llm.api_key_env names another)."
    if status == 404:
        return "Check llm.model and llm.api_base."
    if status == 408:
        return f"It had llm.timeout={limits.timeout:g} seconds for each try: give it more, or ask for fewer tokens."
    wait = told_to_wait(error)
    if wait is not None and wait > limits.retry_seconds:
        return f"It asks for {wait:g} s of patience, and llm.retry_seconds={limits.retry_seconds:g} allows less."
    if status == 429:
        return "Its limit is reached: set llm.requests_per_minute or llm.concurrency, or check the account's quota."
    if status is not None and status >= 500:
        return f"Is the server{where} running and well? Otherwise try again later: what was answered is kept."
    return "Check llm.model and the sampling parameters (null leaves one out)."


def _excess(error: Exception, call: Call) -> str:
    """By how much the request is too long: as the server says, else as litellm counts, else nothing."""
    if known := asked_and_limit(str(error)):
        asked, limit = known
        return f"The prompt and the room for the reply are {asked - limit:,} tokens too long ({asked:,} of {limit:,}). "
    longest = _litellm.longest_prompt(call.server.model)
    if longest is None:
        return ""
    count = _litellm.count_tokens(call.server.model, "\n".join(message.content for message in call.messages))
    if count <= longest:
        return ""
    return f"The prompt is about {count - longest:,} tokens too long ({count:,} of {longest:,}, counted here). "
