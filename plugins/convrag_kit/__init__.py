"""Tasks for setting convrag up and for writing plugins: what is installed, what a run lacks, and a
new plugin.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the tasks."""
    register(
        "task",
        "plugins",
        "convrag_kit.list_plugins:ListPluginsTask",
        "List the options of every stage: who brought them, their parameters, and what "
        "each of them still needs.",
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
        "Write a plugin to begin with: a distribution with one option that works, its "
        "variant, and its tests.",
    )
