"""An exported network that takes the place of torch's: it gets tensors, and gives tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convrag import ConvragError
from convrag_neural.backends import Computing, Library, name_library

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    Arrays = Mapping[str, NDArray[np.int64]]


class CompiledNetwork:
    """The network in a folder, compiled for this CPU: it computes with as many threads as torch would use.

    It is used by one thread at a time.

    Args:
        folder: where `convrag_neural.exporting` wrote it.
        backend: what it was exported for.
    """

    def __init__(self, folder: Path, backend: Computing) -> None:
        path = folder / name_file(name_library(backend))
        self._compute, self._names, self._output = (
            _compile_onnx(path) if backend == "onnx" else _compile_openvino(path, backend)
        )

    def __call__(self, **inputs: Any) -> Any:
        """Compute the output of a batch; inputs that the network was not traced with are options of transformers."""
        import torch
        from transformers.utils import ModelOutput

        rows = self._compute({name: _to_array(inputs[name]) for name in self._names})
        return ModelOutput({self._output: torch.from_numpy(rows)})


def name_file(library: Library) -> str:
    """Name the file of an exported network."""
    return "network.xml" if library == "openvino" else "network.onnx"


def import_openvino() -> Any:
    """Import OpenVINO without its telemetry, which sends an event at each import and export."""
    hidden = sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    try:
        import openvino

        return openvino
    finally:
        if hidden is None:
            del sys.modules["openvino_telemetry"]


def _compile_openvino(path: Path, backend: Computing) -> tuple[Callable[[Arrays], NDArray[np.float32]], list[str], str]:
    import torch

    # By itself OpenVINO computes in bfloat16 where the processor can, so that vectors would depend on the machine.
    precision = "bf16" if backend == "openvino_bf16" else "f32"
    options = {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": torch.get_num_threads()}
    core = import_openvino().Core()
    if precision == "bf16" and "BF16" not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        # It would compute in float32: another result under the same identity.
        raise ConvragError("backend=openvino_bf16: this processor has no bfloat16: choose backend=openvino")
    compiled = core.compile_model(path, "CPU", options)
    request = compiled.create_infer_request()
    names = [port.get_any_name() for port in compiled.inputs]

    def compute(arrays: Arrays) -> NDArray[np.float32]:
        found: NDArray[np.float32] = request.infer(dict(arrays))[compiled.output(0)]
        return found.copy()  # the next call writes into the same memory

    return compute, names, "logits" if len(compiled.output(0).partial_shape) == 2 else "last_hidden_state"


def _compile_onnx(path: Path) -> tuple[Callable[[Arrays], NDArray[np.float32]], list[str], str]:
    import onnxruntime
    import torch

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    output = session.get_outputs()[0].name

    def compute(arrays: Arrays) -> NDArray[np.float32]:
        found: NDArray[np.float32] = session.run([output], dict(arrays))[0]
        return found

    return compute, [each.name for each in session.get_inputs()], output


def _to_array(values: Tensor) -> NDArray[np.int64]:
    import numpy as np

    return np.ascontiguousarray(values.numpy(), dtype=np.int64)
