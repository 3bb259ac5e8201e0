"""Functions and classes that many plugins need. With `convrag` and `convrag.testing` it is all that
a plugin imports.

By subject:

* `text`: text analysis (words, stems, languages), sentences, citations, what texts have in common.
* `llm`: prompts, rewriters that ask once, structured output, recorded replies, judges.
* `search`: corpora, postings, vectors, fusion of rankings, queries, diversity.
* `data`: JSONL, TREC and other files, question sets, transcripts.
* `output`: progress, the console, plots, printable text, spans of a turn.
* `tasks`: the door to the rooms above, for tasks, trackers and reports.

Names of the kernel that few plugins need:

* `errors`: errors that few plugins raise or catch.
* `types`: types that few plugins need.
* `groups`: the groups of stages that a configuration chooses from.
* `identity`: hashes that keys of results are made of.
* `files`: files that are written whole or not at all.
* `folders`: folders that are written whole or not at all.
* `storage`: the store of results, its locks, and what calls cost; the interface of a plugin that
  opens databases.
* `cancellation`: long work that can be cancelled.
* `secrets`: passwords and keys in messages.
* `libraries`: which libraries are installed.

Helpers of no one subject:

* `lazy`: values that are made at the first call.
* `parallel`: calls a function for many items in parallel.
* `threads`: one thread for the numerical libraries.
* `model_files`: which model a name stands for, by its files or its commit on the Hugging Face hub.
* `retry_after`: the HTTP header Retry-After.
"""
