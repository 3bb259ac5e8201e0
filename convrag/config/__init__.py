"""How a user chooses: everything of Hydra but sweeps.

* `compose`: overrides become a configuration.
* `nodes`: what Hydra's store holds for us: options, typed when they are chosen.
* `settings`: what a user can set besides stages.
* `stage_choices`: a stage for a stage by its plain name.
* `named_stages`: several stages in one parameter, each under a name.
* `variants`: YAML files that extend an option.
* `quoting`: values that Hydra's grammar cannot read as they are typed, in quotation marks.
* `named_files`: plugin files that a command names itself.
* `references`: the configuration as it may be written down.
* `secret_checks`: refuses a password or a key in a configuration.
* `command`: what a user typed, and the names by which stages were chosen.
* `messages`: errors of Hydra and OmegaConf in our words.
* `citing`: the file and the line of YAML that an error is about.
* `grammar`: arguments that are no overrides, and what to type instead.
* `known_keys`: keys that nothing reads.
* `unused`: choices that no stage of the run asks for.
* `yaml_files`: YAML is read so that an error names the file and the line.
* `yaml_places`: where in a YAML file a key stands, or a choice.
"""
