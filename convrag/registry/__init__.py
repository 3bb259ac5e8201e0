"""How an option is found and typed.

* `plugins`: discovery of what is installed under the entry-point group `convrag`.
* `registry`: the options by group and name.
* `options`: a constructor's signature becomes an option with typed parameters.
* `description`: an option in words, for help and docs.
* `plugin_files`: a plugin that is a single Python file.
* `extras`: which libraries are installed.
* `tracing`: a line for each call of a hook.
"""
