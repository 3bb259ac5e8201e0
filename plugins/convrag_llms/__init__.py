"""Models: at servers, asked directly or through litellm, and language models in this process.

* `openai_compatible`: the option for servers that speak OpenAI's protocol.
* `litellm_llm`: the option for all other providers.
* `http_llm`: the base of both, a stage that asks a server.
* `llama_cpp_llm`: the option for a model in this process, without a server.
* `llama_cpp_model`: the loaded model, which a thread asks at a time.
* `gguf_files`: finds the model's file, here or on the hub.

Embedders and rankers at servers:

* `openai_embedder`: the option for servers with OpenAI's `/embeddings`.
* `litellm_embedder`: the option for embedding models of other providers.
* `rerank_api`: the option for servers with a `/rerank`.
* `litellm_ranker`: the option for rerankers of other providers.
* `embedder`, `ranker`: the bases of these.
* `litellm_models`: what the two that ask through litellm share.
* `server_stage`: what all four share: limits, costs, the report, errors.
* `request_batches`: texts in batches, which are split where they are refused.
* `json_requests`: requests and replies in JSON.
* `embedding_reply`: reads vectors.
* `rerank_reply`: reads scores.

What a call consists of:

* `call`: one prompt's request within the limits, repeated where that may help.
* `limits`: money, and requests at a time and in a minute.
* `prices`: prices of tokens, the user's own and those that providers list.
* `endpoint`: the address and the key.
* `targets`: the URL and the headers of a request in OpenAI's protocol.
* `request_body`: messages and parameters, as a provider names them.
* `refused_parameters`: parameters that a model refuses; also for embeddings and rerankers.
* `reply`: reads a reply in OpenAI's form, whole or streamed, without its thoughts.
* `thought_habits`: whether the replies of a model may begin inside a thought.
* `errors`: errors of a request, and whether it may be repeated.
* `error_messages`: explains why a call failed, and what to do.
* `tokens`: an estimate of a text's tokens.

How requests are sent:

* `connections`: HTTP connections that stay open, with a limit on a reply's size.
* `deadlines`: deadlines and cancellation of what a thread reads and writes.
* `openai_protocol`: OpenAI's protocol over these connections.
* `litellm_library`: imports litellm, and calls it.
* `litellm_transport`: sends litellm's requests through our connections.
* `mended_reply`: replies as litellm's types take them.
* `redacted_logs`: loggers of HTTP libraries, without secrets.
* `batching`: requests in waves, at half the price (`llm.batch=true`).
* `batch_protocols`: the batches of OpenAI and Anthropic.
"""

import os

from convrag import Register, hookimpl

# litellm reads these at import, and other libraries import it on their own: fetch no price list,
# read no .env file.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_MODE", "PRODUCTION")


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register(
        "llm",
        "litellm",
        "convrag_llms.litellm_llm:LiteLLM",
        "Ask a language model through litellm: a hosted one, or a server of the OpenAI protocol.",
    )
    register(
        "llm",
        "openai_compatible",
        "convrag_llms.openai_compatible:OpenAICompatible",
        "Ask a server that speaks the OpenAI protocol: vLLM, SGLang, llama.cpp, Ollama, a gateway.",
        model="default",
    )
    register(
        "embedder",
        "openai_compatible",
        "convrag_llms.openai_embedder:OpenAICompatibleEmbedder",
        "Embed texts at a server with OpenAI's /embeddings: vLLM, TEI, Ollama, llama.cpp, OpenAI.",
    )
    register(
        "embedder",
        "litellm",
        "convrag_llms.litellm_embedder:LitellmEmbedder",
        "Embed texts through litellm: Cohere, Voyage, Gemini, Bedrock, Jina and other providers.",
    )
    register(
        "ranker",
        "rerank_api",
        "convrag_llms.rerank_api:RerankAPIRanker",
        "Score each text by a reranker at a server with /rerank: Cohere, Jina, Voyage, vLLM, TEI.",
    )
    register(
        "ranker",
        "litellm",
        "convrag_llms.litellm_ranker:LitellmRanker",
        "Score each text by a reranker through litellm: Cohere, Voyage, Jina, Bedrock and others.",
    )
    register(
        "llm",
        "llama_cpp",
        "convrag_llms.llama_cpp_llm:LlamaCpp",
        "Run a model in this process with llama.cpp: a GGUF file, without a server, key or cost.",
    )
