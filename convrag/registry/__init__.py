"""How an option is found and typed.

* `plugins`: discovery of what is installed under the entry-point group `convrag`.
* `plugin_files`: plugins that are single Python files, named by a command.
* `importing`: importing the code of plugins, and describing what went wrong.
* `hook_calls`: how a plugin's hooks are called, and what happens when one fails.
* `origin`: who brings a plugin: a distribution, or a file.
* `registry`: the options by group and name.
* `option`: a class that a group offers under a name.
* `option_text`: an option in words, for help and docs.
* `parameters`: what a constructor's signature says a user can set, and which stages are injected.
* `schema`: parameters as a structured config for Hydra.
* `values`: the check of configured values, by pydantic.
"""
