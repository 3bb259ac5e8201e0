"""How a user chooses: from overrides and YAML files to a checked configuration.

* `compose`: the one way from overrides to a configuration.
* `checks`: names, keys, values and settings of a composed configuration.
* `settings`: what a user can set besides stages.
* `command`: a command, and the names that were chosen.
* `choices`: overrides as users type them become Hydra's; a stage for a stage by its plain name.
* `advice`: what to type instead of an override that cannot be.
* `keys`: keys that nothing reads are refused, with a guess.
* `messages`: errors of Hydra, OmegaConf and PyYAML in our words.
* `variants`: YAML files that extend an option, and presets.
* `yaml_files`: the file and the line of YAML that an error is about.
* `unused`: choices that no stage of the run asks for.
* `secret_checks`: no password and no key in what a run writes.
* `option_source`: the options as configurations that Hydra loads.
* `loader`: where configurations are looked for, and the loader that looks there.
* `hydra`: every use of Hydra's private parts.
"""
