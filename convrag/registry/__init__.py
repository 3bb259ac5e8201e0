"""How an option is found and typed.

* `plugins`: discovery of what is installed under the entry-point group `convrag`.
* `registry`: the options by group and name.
* `option`: a class that a group offers under a name.
* `parameters`: what a constructor's signature says a user can set, and which stages are injected.
* `schema`: parameters as a structured config for Hydra.
* `values`: configured values are checked, and become what the constructor takes.
* `description`: an option in words, for help and docs.
* `plugin_files`: a plugin that is a single Python file.
* `extras`: which libraries are installed.
* `tracing`: a line for each call of a hook.
"""
