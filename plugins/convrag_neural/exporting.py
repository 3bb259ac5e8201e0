"""Exports the network of a model of sentence-transformers for another backend, and replaces it by the exported one."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from convrag import ConvragError, Store
from convrag.sdk.identity import digest
from convrag.sdk.progress import show_step
from convrag_neural.backends import Computing, identify_export

if TYPE_CHECKING:
    from torch import Tensor, nn


class CompiledNetwork:
    """The network in a folder, compiled for this CPU: it computes with as many threads as torch would use.

    It is used by one thread at a time.

    Args:
        folder: where `convrag_neural.exporting` wrote it.
        backend: what it was exported for.
    """

    def __init__(self, folder: Path, backend: Computing) -> None:
        import torch

        # By itself OpenVINO computes in bfloat16 where the processor can, so that vectors would depend on the machine.
        precision = "bf16" if backend == "openvino_bf16" else "f32"
        options = {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": torch.get_num_threads()}
        core = import_openvino().Core()
        if precision == "bf16" and "BF16" not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
            # It would compute in float32: another result under the same identity.
            raise ConvragError("backend=openvino_bf16: this processor has no bfloat16: choose backend=openvino")
        compiled = core.compile_model(folder / _FILE, "CPU", options)
        self._request = compiled.create_infer_request()
        self._names = [port.get_any_name() for port in compiled.inputs]
        self._port = compiled.output(0)
        self._output = "logits" if len(self._port.partial_shape) == 2 else "last_hidden_state"

    def __call__(self, **inputs: Any) -> Any:
        """Compute the output of a batch; inputs that the network was not traced with are options of transformers."""
        import numpy as np
        import torch
        from transformers.utils import ModelOutput

        arrays = {name: np.ascontiguousarray(inputs[name].numpy(), dtype=np.int64) for name in self._names}
        rows = self._request.infer(arrays)[self._port].copy()  # the next call writes into the same memory
        return ModelOutput({self._output: torch.from_numpy(rows)})


def import_openvino() -> Any:
    """Import OpenVINO without its telemetry, which sends an event at each import and export."""
    hidden = sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    try:
        import openvino

        return openvino
    finally:
        if hidden is None:
            del sys.modules["openvino_telemetry"]


_FILE = "network.xml"
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

    def export(folder: Path) -> None:
        with show_step("Exporting the model for openvino"):
            _export(model, network, folder)

    if store is None:
        with TemporaryDirectory(prefix="convrag-") as name:
            export(Path(name))
            compiled = CompiledNetwork(Path(name), backend)
    else:
        exported = digest([type(model).__name__, key, identify_export()])
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


def _export(model: Any, network: Any, folder: Path) -> None:
    """Export a network into a folder, and compare it with torch on texts of other lengths."""
    import torch

    inputs, others = _make_inputs(model, _PADDED), _make_inputs(model, _CHECKED)
    try:
        with _quiet(), torch.no_grad():
            output = next(name for name in ("logits", "last_hidden_state") if name in network(**inputs))
            traced = _wrap(network, list(inputs), output)
            _save_openvino(traced, inputs, folder / _FILE)
            expected = network(**others)[output]
            found = CompiledNetwork(folder, "openvino")(**others)[output]
    except Exception as error:  # the libraries document no common exception
        why = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise ConvragError(f"the model cannot be exported for openvino ({why}): choose backend=torch") from error
    mask = others["attention_mask"].bool() if output == "last_hidden_state" else slice(None)
    difference = float((expected - found)[mask].abs().max())
    if not difference <= _TOLERANCE:  # a nan is not
        raise ConvragError(
            f"the exported model differs from torch by {difference:.2g} with openvino: choose backend=torch"
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


def _save_openvino(traced: nn.Module, inputs: Mapping[str, Tensor], path: Path) -> None:
    import torch

    openvino = import_openvino()
    script = torch.jit.trace(traced, tuple(inputs.values()), check_trace=False)
    converted = openvino.convert_model(script, example_input=tuple(inputs.values()))
    for port, name in zip(converted.inputs, inputs, strict=True):
        port.get_tensor().set_names({name})
    openvino.save_model(converted, path, compress_to_fp16=False)  # what it does by itself costs three digits


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the libraries' advice on tracing and their own future off the terminal."""
    names = "transformers", "openvino"
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
