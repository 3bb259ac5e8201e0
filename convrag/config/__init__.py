"""How a user chooses: everything of Hydra but sweeps.

* `compose`: overrides become a configuration.
* `settings`: what a user can set besides stages.
* `choices`: overrides as users type them become Hydra's; a stage for a stage by its plain name.
* `loader`: Hydra's loader on a store of our own, which holds the options, typed when they are
  chosen.
* `variants`: YAML files that extend an option, and presets.
* `messages`: errors of Hydra, OmegaConf and PyYAML in our words; keys that nothing reads, with a
  guess.
* `unused`: choices that no stage of the run asks for.
* `yaml_files`: the file and the line of YAML that an error is about.
* `secret_checks`: no password and no key in what a run writes.
"""
