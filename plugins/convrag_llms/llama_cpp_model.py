"""A model that llama.cpp runs in this process: loaded once, and asked by a thread at a time."""

from __future__ import annotations

import ctypes
import logging
import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from llama_cpp import (
    Llama,
    LogitsProcessorList,
    ggml_abort_callback,
    llama_cpp as bindings,
    llama_set_abort_callback,
)

from convrag import ConvragError
from convrag.sdk.cancellation import (
    Cancelled,
    check_cancelled,
    hold,
    release_slot,
    when_cancelled,
)

USUAL_CONTEXT = 8192
"""The most tokens of a context where the user chooses none.

Models of today have 128,000 and more, whose memory few machines can spare.
"""

_LIKELY_WORDS = 20
"""The likely first words that are kept, as many as OpenAI's protocol gives."""


@dataclass(frozen=True)
class LoadOptions:
    """What a model is loaded with; models with equal options are one.

    Args:
        path: the GGUF file.
        context_size: tokens of a prompt and its reply together; None is the model's own, 8,192 at
            most.
        threads: that compute; None lets llama.cpp choose.
        gpu_layers: layers of the model on a GPU; -1 is all.
        chat_format: name of one of llama-cpp-python's chat formats; None takes the file's template.
        repack: whether weights may be repacked for the processor's matrix instructions.
    """

    path: Path
    context_size: int | None
    threads: int | None
    gpu_layers: int
    chat_format: str | None
    repack: bool


@dataclass
class TokenTally:
    """The tokens of one call.

    Args:
        prompt: tokens of the prompt.
        cached: tokens at its beginning that the context still had from the call before.
        completion: tokens of the reply.
    """

    prompt: int = 0
    cached: int = 0
    completion: int = 0


class CountingLlama(Llama):  # type: ignore[misc, unused-ignore]
    """The library's model, which counts tokens and can be cancelled between them."""

    tally: TokenTally
    evaluated: int = 0
    """Tokens that were evaluated since the model was loaded, prompts and replies."""

    def generate(self, tokens: Sequence[int], *args: Any, **options: Any) -> Iterator[int]:
        """Yield the tokens of a reply. Raises Cancelled."""
        self.tally = TokenTally(prompt=len(tokens))
        before = self.evaluated
        with closing(super().generate(tokens, *args, **options)) as generated:
            for token in generated:
                if not self.tally.completion:
                    self.tally.cached = len(tokens) - (self.evaluated - before)
                self.tally.completion += 1
                yield token
                check_cancelled()

    def eval(self, tokens: Sequence[int]) -> None:
        """Evaluate tokens in batches. Raises Cancelled between them."""
        for start in range(0, len(tokens), self.n_batch):
            check_cancelled()
            batch = tokens[start : start + self.n_batch]
            super().eval(batch)
            self.evaluated += len(batch)


class AbortFlag:
    """A flag that ends llama.cpp's evaluation of a batch, which may take seconds.

    llama.cpp calls a C function between the operations of an evaluation, some thousand times a
    token. A function in Python would wait for the interpreter's lock each time. So it is given C's
    own `atoi`, which reads the flag: "0" goes on, "1" ends.

    Args:
        context: of llama.cpp.
    """

    def __init__(self, context: Any) -> None:
        self._text = ctypes.create_string_buffer(b"0")
        c_library = ctypes.CDLL("msvcrt" if os.name == "nt" else None)
        self._function = ctypes.cast(c_library.atoi, ggml_abort_callback)
        place = ctypes.cast(self._text, ctypes.c_void_p)
        llama_set_abort_callback(context, self._function, place)

    def set(self) -> None:
        """End the evaluation."""
        self._text.value = b"1"

    def clear(self) -> None:
        """Let the next evaluation go on."""
        self._text.value = b"0"


@dataclass
class FirstWords:
    """A logits processor that keeps the likely first tokens of a reply.

    Args:
        detokenize: makes the bytes of tokens.
        found: text -> logarithm of its probability.
    """

    detokenize: Callable[[list[int]], bytes]
    found: dict[str, float] = field(default_factory=dict)

    def __call__(self, tokens: Any, logits: Any) -> Any:
        """Read the first logits, and change none."""
        if self.found:
            return logits
        import numpy as np

        scores = np.asarray(logits, dtype=np.float64)
        total = scores.max() + math.log(np.exp(scores - scores.max()).sum())
        for token in np.argsort(-scores, kind="stable")[:_LIKELY_WORDS].tolist():
            word = self.detokenize([token]).decode(errors="replace")
            # Tokens of one spelling add nothing: the first one is the likeliest.
            self.found.setdefault(word, float(scores[token] - total))
        return logits


class LlamaCppModel:
    """A loaded model, which answers one call at a time.

    The context keeps the tokens of the last call. The next one evaluates only what follows the part
    that both have in common.

    Args:
        options: what to load it with.

    Raises:
        ConvragError: it cannot be loaded.
    """

    def __init__(self, options: LoadOptions) -> None:
        self._lock = threading.Lock()
        self.llama = _load(options)
        self._abort = AbortFlag(self.llama.ctx)

    @property
    def context_size(self) -> int:
        """Tokens of a prompt and its reply together."""
        return int(self.llama.n_ctx())

    def ask(
        self,
        request: Mapping[str, Any],
        read: Callable[[Iterator[Mapping[str, Any]]], None],
        *,
        with_words: bool = False,
    ) -> tuple[TokenTally, Mapping[str, float]]:
        """Answer one request, after those of other threads.

        Args:
            request: messages and sampling, as `create_chat_completion` takes them.
            read: reads the chunks of the reply, in OpenAI's form.
            with_words: whether to return the likely first words.

        Returns:
            The tokens, and the likely first words with the logarithms of their probabilities.

        Raises:
            Cancelled: the calls of this thread are cancelled.
            Exception: what the library raises.
        """
        with hold(self._lock), release_slot(), self._abortable():
            words = FirstWords(self.llama.detokenize)
            watchers = LogitsProcessorList([words]) if with_words else None
            chunks = self.llama.create_chat_completion(
                **request, stream=True, logits_processor=watchers
            )
            with closing(chunks):
                read(chunks)
            return self.llama.tally, words.found

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text; special tokens in it count as the letters that they are."""
        tokens = self.llama.tokenize(text.encode(errors="replace"), add_bos=False, special=False)
        return len(tokens)

    @contextmanager
    def _abortable(self) -> Iterator[None]:
        """End an evaluation that runs when the calls of this thread are cancelled."""
        self._abort.clear()
        try:
            with when_cancelled(self._abort.set):
                yield
        except RuntimeError as error:  # llama_decode was aborted
            check_cancelled()
            raise error
        except Cancelled:
            raise
        finally:
            self._abort.clear()


_models: WeakValueDictionary[LoadOptions, LlamaCppModel] = WeakValueDictionary()
"""The loaded models, as long as a stage uses them."""

_loading = threading.Lock()


def get_model(options: LoadOptions) -> LlamaCppModel:
    """Return the model with these options; load it where no stage has. Raises ConvragError."""
    with _loading:
        model = _models.get(options)
        if model is None:
            model = LlamaCppModel(options)
            _models[options] = model
        return model


def _load(options: LoadOptions) -> CountingLlama:
    """Load a model, with a context that is not longer than the model was trained for."""
    size = options.context_size or USUAL_CONTEXT
    llama = _load_with_context(options, size)
    trained = int(llama._model.n_ctx_train())
    if options.context_size is None and 0 < trained < size:
        llama.close()
        llama = _load_with_context(options, trained)
    # It logs each evaluation that is cancelled as an error. Loading sets its level.
    logging.getLogger("llama-cpp-python").setLevel(logging.CRITICAL)
    has_template = "tokenizer.chat_template" in llama.metadata
    if not has_template and options.chat_format is None:
        llama.close()
        raise ConvragError(
            f"{options.path} has no chat template, so it is not known how to put messages to it: "
            "choose a model that was trained for chats, or name a format (llm.chat_format=chatml)"
        )
    return llama


def _load_with_context(options: LoadOptions, size: int) -> CountingLlama:
    try:
        with _repacking(options.repack):
            return CountingLlama(
                str(options.path),
                n_ctx=size,
                n_threads=options.threads,
                n_threads_batch=options.threads,
                n_gpu_layers=options.gpu_layers,
                chat_format=options.chat_format,
                verbose=False,
            )
    except Exception as error:  # the library has no exceptions of its own
        raise ConvragError(
            f"llama.cpp cannot load {options.path} with a context of {size} tokens: {error}. The "
            "file may be damaged or too new for this llama-cpp-python, or there is too little "
            "memory (llm.context_size=...)"
        ) from error


@contextmanager
def _repacking(allowed: bool) -> Iterator[None]:
    """Load models without repacked weights during the block, unless it is allowed.

    The library's class has no parameter for it: its defaults are replaced. Only `get_model` loads,
    a model at a time.
    """
    original = bindings.llama_model_default_params

    def without_repacking() -> Any:
        params = original()
        params.use_extra_bufts = False
        return params

    if not allowed:
        bindings.llama_model_default_params = without_repacking
    try:
        yield
    finally:
        bindings.llama_model_default_params = original
