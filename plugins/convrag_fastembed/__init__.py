"""Neural models without torch: fastembed runs them with onnxruntime; they need `fastembed`.

* `embedder`: sentence embeddings.
* `ranker`: a cross-encoder, which reads query and text together.
* `onnx_stage`: the base of both: a model that is loaded once and used by a thread at a time.
* `onnx_folder`: a model in a folder of this machine: its files, pooling and length.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register `embedder=fastembed` and `ranker=fastembed`."""
    register(
        "embedder",
        "fastembed",
        "convrag_fastembed.embedder:FastembedEmbedder",
        "Embed texts with an ONNX model, without torch: one of fastembed's, or a folder.",
    )
    register(
        "ranker",
        "fastembed",
        "convrag_fastembed.ranker:FastembedRanker",
        "Score each text with an ONNX cross-encoder, without torch: one of fastembed's, or a "
        "folder.",
    )
