"""How an option is found and typed.

* `plugins`: discovery of what is installed under the entry-point group `convrag`.
* `registry`: the options by group and name.
* `option`: a class that a group offers under a name.
* `parameters`: what a constructor's signature says a user can set, and which stages are injected.
* `schema`: parameters as a structured config for Hydra.
* `values`: configured values are checked, and become what the constructor takes.
* `description`: an option in words, for help and docs.
* `origin`: who brings a plugin.
* `plugin_files`: a plugin that is a single Python file.
* `implementations`: the hooks that a plugin implements, and mistakes in them.
* `guards`: what a plugin's hook raises costs one warning.
* `hook_results`: what hooks may return.
* `tracing`: a line for each call of a hook.
* `class_checks`: what a class must be so that a group can offer it.
* `class_source`: a class found and read without importing its module.
* `signature_source`: the parameters of such a class.
* `module_source`: where a module lies, and its text.
* `renaming`: old names of parameters.
* `made_for`: which versions of convrag a plugin was made for.
"""
