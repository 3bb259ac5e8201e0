"""Exports the network of a model of sentence-transformers for another backend, and replaces it by the exported one."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from convrag import ConvragError, Store
from convrag.sdk.identity import digest
from convrag.sdk.progress import show_step
from convrag_neural.backends import Computing, Library, identify_export, name_library
from convrag_neural.compiled import CompiledNetwork, import_openvino, name_file

if TYPE_CHECKING:
    from torch import Tensor, nn

_PADDED = "What is a passage?", "A passage is a piece of a text, of some sentences, that answers a question."
_CHECKED = "Three texts", "of other lengths than those that", "the network was traced with. " * 8
_TOLERANCE = 1e-3
"""The largest difference from torch in a number of the network's output, which has a size of about 1."""


def replace_network(model: Any, backend: Computing, store: Store | None, key: str) -> None:
    """Let a backend compute the network of a model; tokenizer, pooling and the rest stay with sentence-transformers.

    The network is exported where the store does not have it, from the loaded weights, and compared with torch.

    Args:
        model: a SentenceTransformer or CrossEncoder in float32 on the CPU.
        backend: other than torch.
        store: keeps the exported network; without one it is exported each time.
        key: a hash of the model's files.

    Raises:
        ConvragError: the network cannot be exported, or computes something else then.
    """
    network = _find_network(model)
    library = name_library(backend)

    def export(folder: Path) -> None:
        with show_step(f"Exporting the model for {library}"):
            _export(model, network, library, folder)

    if store is None:
        with TemporaryDirectory(prefix="convrag-") as name:
            export(Path(name))
            compiled = CompiledNetwork(Path(name), backend)
    else:
        exported = digest([type(model).__name__, key, identify_export(library)])
        compiled = CompiledNetwork(store.folder("models", exported, export), backend)
    network.forward = compiled
    for weights in network.parameters():  # the exported network has its own
        weights.data = weights.data.new_empty(0)


def _find_network(model: Any) -> Any:
    from transformers import PreTrainedModel

    networks = [module for module in model.modules() if isinstance(module, PreTrainedModel)]
    if not networks:
        raise ConvragError("the model has no network of transformers that can be exported: choose backend=torch")
    return networks[0].float().eval()


def _export(model: Any, network: Any, library: Library, folder: Path) -> None:
    """Export a network into a folder, and compare it with torch on texts of other lengths."""
    import torch

    inputs, others = _make_inputs(model, _PADDED), _make_inputs(model, _CHECKED)
    try:
        with _quiet(), torch.no_grad():
            output = next(name for name in ("logits", "last_hidden_state") if name in network(**inputs))
            traced = _wrap(network, list(inputs), output)
            save = _save_openvino if library == "openvino" else _save_onnx
            save(traced, inputs, output, folder / name_file(library))
            expected = network(**others)[output]
            found = CompiledNetwork(folder, library)(**others)[output]
    except Exception as error:  # the libraries document no common exception
        why = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise ConvragError(f"the model cannot be exported for {library} ({why}): choose backend=torch") from error
    mask = others["attention_mask"].bool() if output == "last_hidden_state" else slice(None)
    difference = float((expected - found)[mask].abs().max())
    if not difference <= _TOLERANCE:  # a nan is not
        raise ConvragError(
            f"the exported model differs from torch by {difference:.2g} with {library}: choose backend=torch"
        )


def _make_inputs(model: Any, texts: Sequence[str]) -> dict[str, Tensor]:
    """Make what sentence-transformers gives the network for texts: name -> tensor."""
    return dict(model.tokenizer(list(texts), padding=True, truncation=True, return_tensors="pt"))


def _wrap(network: Any, names: list[str], output: str) -> nn.Module:
    """A module with positional inputs and one output, which can be traced."""
    import torch

    class Traced(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, *inputs: Any) -> Any:
            return self.network(**dict(zip(names, inputs, strict=True)))[output]

    return Traced().eval()


def _save_openvino(traced: nn.Module, inputs: Mapping[str, Tensor], output: str, path: Path) -> None:
    import torch

    openvino = import_openvino()
    script = torch.jit.trace(traced, tuple(inputs.values()), check_trace=False)
    converted = openvino.convert_model(script, example_input=tuple(inputs.values()))
    for port, name in zip(converted.inputs, inputs, strict=True):
        port.get_tensor().set_names({name})
    openvino.save_model(converted, path, compress_to_fp16=False)  # what it does by itself costs three digits


def _save_onnx(traced: nn.Module, inputs: Mapping[str, Tensor], output: str, path: Path) -> None:
    import torch

    torch.onnx.export(
        traced,
        tuple(inputs.values()),
        str(path),
        dynamo=False,  # the other way needs one more package, onnxscript
        opset_version=17,
        input_names=list(inputs),
        output_names=[output],
        dynamic_axes={name: {0: "texts", 1: "tokens"} for name in inputs} | {output: {0: "texts"}},
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the libraries' advice on tracing and their own future off the terminal."""
    names = "transformers", "torch.onnx", "openvino"
    levels = {name: logging.getLogger(name).level for name in names}
    try:
        for name in names:
            logging.getLogger(name).setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
