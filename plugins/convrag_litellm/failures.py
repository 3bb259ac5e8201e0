"""Says what went wrong with a request, and what to do about it."""

from __future__ import annotations

from convrag.errors import LLMError
from convrag_litellm.retrying import EmptyReply, is_too_long, status_of
from convrag_litellm.secrets import public_address, scrub


def explain(
    error: Exception, *, model: str, address: str | None, key: str | None, key_variable: str | None, timeout: float
) -> LLMError:
    """Any error of a request -> an LLMError without secrets."""
    status = status_of(error)
    provider = str(getattr(error, "llm_provider", "") or model.partition("/")[0])
    where = f" at {public_address(address)}" if address else ""
    said = scrub(" ".join(str(error).split()), key, address=address)
    advice = _advice(error, status, where, key_variable, timeout)
    kind = f"status {status}" if status else type(error).__name__
    message = f"{model}{where} gave no reply ({kind}): {said}. {advice}"
    return LLMError(message, provider=provider, model=model, status=status)


def _advice(error: Exception, status: int | None, where: str, key_variable: str | None, timeout: float) -> str:
    if isinstance(error, EmptyReply):
        return "Try another model, or a bigger llm.max_tokens."
    if is_too_long(error):
        return "Send less: fewer or shorter passages (top_n), less history, a smaller llm.max_tokens."
    if "LLM Provider NOT provided" in str(error):
        return "Write llm.model as provider/model, such as openai/gpt-4o."
    if status in (401, 403):
        variable = key_variable or "of this provider (llm.api_key_env names another)"
        return f"Check the key in the environment variable {variable}."
    if status == 404:
        return "Check llm.model and llm.api_base."
    if status == 408:
        return f"It had llm.timeout={timeout:g} seconds for each try: give it more, or ask for fewer tokens."
    if status == 429:
        return "Its limit is reached: lower workers, wait, or check the account's quota."
    if status is not None and status >= 500:
        return f"Is the server{where} running and well? Otherwise try again later: what was answered is kept."
    return "Check llm.model and the sampling parameters (null leaves one out)."
