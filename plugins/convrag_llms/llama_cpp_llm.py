"""`llm=llama_cpp`: a model in a GGUF file, in this process."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from annotated_types import Ge

from convrag import LLM, Completion, ConvragError, LLMError, Prompt, operational
from convrag.sdk.errors import CutReply
from convrag.sdk.lazy import Lazy
from convrag.sdk.llm.sampling import MaxTokens, Temperature, TopP
from convrag.sdk.llm.streaming import current_listener
from convrag_llms.errors import EmptyReply
from convrag_llms.gguf_files import GgufFile
from convrag_llms.reply import Reply, ReplyReader
from convrag_llms.request_body import format_messages, make_response_format

if TYPE_CHECKING:
    from convrag_llms.llama_cpp_model import LlamaCppModel

_PARAMETERS = frozenset(
    {
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "max_tokens",
        "seed",
        "stop",
        "repeat_penalty",
        "presence_penalty",
        "frequency_penalty",
        "tools",
        "response_format",
    }
)
"""The sampling parameters that the library takes by these names."""


class LlamaCpp(LLM):
    """Run a model in this process with llama.cpp: a GGUF file, without a server, key or cost.

    All stages and threads share one loaded model, which answers a call at a time; other calls wait.
    The context keeps the last call's tokens, so a prompt that begins as the one before is evaluated
    from where they differ. A cancelled call ends within a token, or within the evaluation of its
    prompt.

    Args:
        model: the GGUF file.
        repo: a repository on the Hugging Face hub in place of a file here; the file is downloaded
            once.
        file: the GGUF file in that repository.
        context_size: tokens of a prompt and its reply together; None takes the model's own, 8,192
            at most. A longer context needs more memory.
        chat_format: name of one of llama-cpp-python's formats (chatml, llama-3, gemma, ...); None
            takes the template in the file.
        temperature: 0 gives the likeliest reply, more gives more varied ones; None leaves it to
            llama.cpp.
        top_p: share of the likeliest tokens to draw from, 0 to 1; None leaves it to llama.cpp.
        max_tokens: the longest reply, in tokens; None is what the context leaves.
        seed: of the draws, with a temperature above 0; asking again draws again.
        stop: texts at which a reply ends.
        threads: threads that compute; None lets llama.cpp choose.
        gpu_layers: layers that a GPU computes, where llama.cpp was built for one; -1 is all.
        repack: repacks weights for the processor's matrix instructions (AMX and the like), which is
            faster. Some virtual machines announce such instructions and do not permit them: there a
            process dies at the first prompt, unless this is false.

    Raises:
        ConfigError: no file is named, or two.
        ConvragError: when it is used, the model cannot be loaded.
    """

    streams = True
    requires: ClassVar[Mapping[str, str]] = {"llama_cpp": "convrag[llama-cpp]"}
    libraries = ("llama-cpp-python",)

    def __init__(
        self,
        *,
        model: Path | None = None,
        repo: str | None = None,
        file: str | None = None,
        context_size: Annotated[int | None, Ge(64)] = None,
        chat_format: str | None = None,
        temperature: Temperature | None = 0.0,
        top_p: TopP | None = None,
        max_tokens: MaxTokens | None = 512,
        seed: int = 0,
        stop: list[str] | None = None,
        threads: Annotated[int | None, operational, Ge(1)] = None,
        gpu_layers: Annotated[int, operational, Ge(-1)] = -1,
        repack: Annotated[bool, operational] = True,
    ) -> None:
        self.file = GgufFile(model, repo, file)
        self.sampling: Mapping[str, Any] = {
            "temperature": temperature,
            "top_p": top_p,
            "max_tokens": max_tokens,
            "seed": seed,
            "stop": list(stop) if stop else None,
        }
        load = partial(self._load_model, context_size, threads, gpu_layers, chat_format, repack)
        self._model: Lazy[LlamaCppModel] = Lazy(load)

    def check(self) -> Iterable[str]:
        """Say why the file cannot be loaded, as far as that is known without loading it."""
        problem = self.file.find_problem()
        return [problem] if problem else []

    def content_hash(self) -> str:
        """Identify the model's file, wherever it lies."""
        return self.file.identify()

    def prepare(self) -> None:
        """Load the model. Raises ConvragError where that fails."""
        self._model()

    def request(self, prompt: Prompt) -> Mapping[str, Any]:
        """Return the request, and the identity of the model."""
        return {"llm": self.fingerprint, **self._build_request(prompt)}

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text as the model does."""
        return self._model().count_tokens(text)

    def complete(self, prompt: Prompt) -> Completion:
        """Answer a prompt, piece by piece where somebody listens. Raises LLMError."""
        model = self._model()
        request = self._build_request(prompt)
        reader = ReplyReader(self.file.name, current_listener(), has_tools="tools" in request)
        start = time.perf_counter()
        try:
            tally, first_words = model.ask(
                request, reader.read_stream, with_words=bool(prompt.sampling.get("logprobs"))
            )
            reply = self._read_reply(reader, reads_thoughts=prompt.reads_thoughts)
        except ConvragError:
            raise
        except Exception as error:  # a template that refuses a role, a prompt that is too long
            failure = self._explain(error, model)
        else:
            return Completion(
                text=reply.text,
                prompt_tokens=tally.prompt,
                completion_tokens=tally.completion,
                cached_tokens=tally.cached,
                cost_usd=0.0,
                seconds=time.perf_counter() - start,
                model=self.file.name,
                finish_reason=reply.finish_reason,
                first_words=first_words,
                reasoning=reply.thoughts,
                reasoning_tokens=min(reply.thought_tokens, tally.completion),
            )
        raise failure

    def _build_request(self, prompt: Prompt) -> dict[str, Any]:
        """Build what the library is given: messages and sampling."""
        given = {**self.sampling, **make_response_format(prompt.schema), **prompt.sampling}
        if given["max_tokens"] and "max_tokens" not in prompt.sampling:
            given["max_tokens"] = max(given["max_tokens"], prompt.room)
        # Asking again would repeat the reply, if the draws began as before.
        given["seed"] += prompt.attempt
        sampling = {name: value for name, value in given.items() if value is not None}
        request: dict[str, Any] = {"messages": format_messages(prompt.messages)}
        request |= {name: sampling[name] for name in sampling if name in _PARAMETERS}
        if "response_format" in request:
            request["response_format"] = _translate_format(request["response_format"])
        return request

    def _read_reply(self, reader: ReplyReader, *, reads_thoughts: bool = False) -> Reply:
        """Read the reply. Raises LLMError where it shows nothing: it would be so again."""
        try:
            return reader.make_reply(0.0)
        except EmptyReply as error:
            if reads_thoughts and error.thoughts:
                return error.thoughts
            message = f"{self.file.name} gave no reply: {error}: raise llm.max_tokens"
            if error.finish_reason == "length":
                failure: LLMError = CutReply(
                    message, tokens=error.tokens, provider="llama_cpp", model=self.file.name
                )
            else:
                failure = self._make_error(f"{error}: try another model")
        raise failure

    def _explain(self, error: Exception, model: LlamaCppModel) -> LLMError:
        """Make an LLMError of what the library raised."""
        reason = " ".join(str(error).split())
        if "context window" in reason:
            return self._make_error(
                f"{reason}. Give it a longer context (llm.context_size, now {model.context_size}) "
                "or a shorter prompt (top_n, memory=recent)"
            )
        return self._make_error(f"llama.cpp: {reason or type(error).__name__}")

    def _make_error(self, message: str) -> LLMError:
        name = self.file.name
        return LLMError(f"{name} gave no reply: {message}", provider="llama_cpp", model=name)

    def _load_model(
        self,
        context_size: int | None,
        threads: int | None,
        gpu_layers: int,
        chat_format: str | None,
        repack: bool,
    ) -> LlamaCppModel:
        """Load the model, or take the one that another stage has loaded. Raises ConvragError."""
        from convrag_llms.llama_cpp_model import LoadOptions, get_model

        path = self.file.find()
        options = LoadOptions(path, context_size, threads, gpu_layers, chat_format, repack)
        return get_model(options)


def _translate_format(response_format: Any) -> Any:
    """Translate OpenAI's `response_format` with a schema into the library's form of it."""
    if not isinstance(response_format, Mapping) or response_format.get("type") != "json_schema":
        return response_format
    return {"type": "json_object", "schema": response_format["json_schema"]["schema"]}
