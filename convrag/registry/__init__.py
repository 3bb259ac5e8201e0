"""How an option is found and typed.

* `plugins`: discovery of what is installed under the entry-point group `convrag`.
* `hook_calls`: who brings a plugin, and how its hooks are called.
* `registry`: the options by group and name, and an option in words, for help and docs.
* `option`: a class that a group offers under a name.
* `parameters`: what a constructor's signature says a user can set, and which stages are injected.
* `source`: a class found and read without importing its module.
* `schema`: parameters as a structured config for Hydra, and the checks of configured values.
"""
