"""The results of stages on disk, each computed once, and the usage of the calls that computed them.

* `store`: values and folders on disk, by key.
* `remember`: stage methods that look for their results in the store first.
* `codecs`: results as bytes.
* `fingerprint`: hashes of stages, values and files, of which keys are made.
* `source`: hashes of the source code that the results of a class depend on.
* `locks`: locks by key, across threads and processes.
* `atomic`: files that are written whole or not at all.
* `usage`: the seconds, calls, tokens and costs of each stage in a turn.
* `streaming`: the pieces of an LLM's reply on their way to a listener.
"""
