"""Functions and classes for plugins, which import only `convrag`, `convrag.sdk`, `convrag.testing`.

The public modules, which plugin authors need. The others serve the plugins of this distribution,
and may change.

* Texts: `text.analysis`, `text.sentences`, `text.citations`.
* Language models: `llm.prompts`, `llm.rewriter`, `llm.json_stage`, `llm.structured_output`.
* Search: `search.corpus`, `search.queries`, `search.fusion`, `search.vectors`.
* Data and output: `data.jsonl`, `data.document_passages`, `output.progress`, `output.console`.
* Calls and results: `parallel`, `lazy`, `identity`, `files`, `model_files`, `cancellation`.
* Rare names of the kernel: `errors`, `types`.

All modules and rooms:

* `text`: text analysis (words, stems, languages), sentences, citations, what texts have in common.
* `llm`: prompts, rewriters that ask once, structured output, recorded replies, judges.
* `search`: corpora, postings, vectors, fusion of rankings, queries, diversity.
* `data`: JSONL, TREC and other files, question sets, transcripts.
* `output`: progress, the console, plots, printable text, spans of a turn.
* `tasks`: the door to the rooms above, for tasks, trackers and reports.

Doors to names of the kernel that few plugins need:

* `errors`: errors that few plugins raise or catch.
* `types`: types that few plugins need.
* `groups`: the groups of stages that a configuration chooses from.
* `identity`: hashes that keys of results are made of.
* `files`: files that are written whole or not at all.
* `storage`: the store of results, its locks, and the cost of calls; the interface of a plugin that
  opens databases.
* `cancellation`: long work that can be cancelled.
* `secrets`: passwords and keys in messages.
* `libraries`: which libraries are installed.

Helpers without a subject in common:

* `lazy`: values that are made at the first call.
* `parallel`: calls a function for many items in parallel.
* `folders`: folders that are written whole or not at all.
* `threads`: one thread for the numerical libraries.
* `model_files`: the identity of a model, by its files or its commit on the Hugging Face hub.
* `http_pools`: connections to servers: the environment's proxy, and the certificates to trust.
* `retry_after`: the HTTP header Retry-After.
"""
