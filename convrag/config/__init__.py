"""How a user chooses: everything of Hydra but sweeps.

* `compose`: overrides become a configuration.
* `nodes`: what Hydra's store holds for us: options, typed when they are chosen.
* `settings`: what a user can set besides stages.
* `stage_choices`: a stage for a stage by its plain name.
* `variants`: YAML files that extend an option.
* `named_files`: plugin files that a command names itself.
* `references`: the configuration as it may be written down.
* `secret_checks`: refuses a password or a key in a configuration.
* `messages`: errors of Hydra and OmegaConf in our words.
"""
