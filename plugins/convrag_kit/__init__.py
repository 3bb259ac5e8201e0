"""Tasks for setting convrag up and for writing plugins: what is installed, what a run lacks, and a
new plugin.

* `doctor`, `doctor_checks`: `task=doctor`: what is missing or broken for a configuration.
* `doctor_trials`: what the chosen models can do.
* `list_plugins`: `task=plugins`: lists the installed options.
* `inventory`, `inventory_view`: the installed options as data, and on a terminal.
* `plugin_check`, `plugin_check_view`: the contracts run against an installed plugin.
* `config_schema`: the JSON schema of the configuration, for editors.
* `new_plugin`: `task=new_plugin`: writes a distribution with a plugin that works.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the tasks."""
    register(
        "task",
        "plugins",
        "convrag_kit.list_plugins:ListPluginsTask",
        "List all options: who brought them, their parameters, and what each still needs.",
    )
    register(
        "task",
        "doctor",
        "convrag_kit.doctor:DoctorTask",
        "Check versions, plugins, stages, keys and the store for a configuration, and say "
        "what to do.",
    )
    register(
        "task",
        "new_plugin",
        "convrag_kit.new_plugin:NewPluginTask",
        "Write a plugin to begin with: one option that works, a variant of it, and tests.",
    )
