"""The results of stages on disk, each computed once, and the usage of the calls that computed them.

* `store`: values and folders, by key.
* `database`: values in SQLite, each with a checksum; a damaged file is renamed aside.
* `remember`: stage methods that look for their results in the store first.
* `values`: results as bytes: arrays, replies of language models, and the classes of plain data.
* `json_text`: JSON without NaN and infinities, and JSON with marks for what JSON cannot say.
* `fingerprint`: hashes of stages, values and files; keys are made of them.
* `source`: hashes of the source code that the results of a class depend on.
* `locks`: locks of keys and of folders, across threads and processes; what a forked child does with its parent's.
* `folders`: built folders, each built once, checked and held while it is used.
* `files`: files that are written whole or not at all, their names, and what is said where they cannot be written.
* `cancellation`: ends the calls of other threads, lets them compute while one waits, and cleans up where a process ends
  while a thread hangs.
* `usage`: the seconds, calls, tokens and costs of each stage in a turn.
* `streaming`: the pieces of an LLM's reply on their way to a listener, and work in a thread as a stream.
"""
