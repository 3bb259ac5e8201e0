"""The results of stages on disk, each computed once, and the usage of the calls that computed them.

* `store`: values and folders, by key.
* `database`: values in SQLite, each with a checksum; a damaged file is renamed aside.
* `remember`: stage methods that look for their results in the store first.
* `values`: results as bytes: arrays, replies of language models, and the classes of plain data.
* `json_text`: JSON without NaN and infinities, and JSON with marks for what JSON cannot say.
* `yaml_text`: YAML within bounds: aliases cannot make a small text take all memory.
* `fingerprint`: hashes of stages, values and files; keys are made of them.
* `code_hash`: hashes of the source code that the results of a class depend on.
* `libraries`: the libraries that the code of a class reaches, whose versions count.
* `folders`: built folders, each built once, checked and held while it is used.
* `files`: files that are written whole or not at all, their names, and the errors of a full disk.
* `usage_meter`: the seconds, calls, tokens and costs of each stage in a turn.
"""
