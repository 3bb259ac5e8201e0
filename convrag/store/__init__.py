"""What is computed once.

* `store`: values and folders on disk, by key.
* `remember`: puts the store between a stage and its callers.
* `fingerprint`: the identity of a stage, under which its results are kept.
* `locks`: one computation of a key at a time, across threads and processes.
* `atomic`: files appear whole or not at all.
* `usage`: the seconds, calls, tokens and costs of each stage in a turn.
* `streaming`: the pieces of a reply on their way to a listener.
"""
