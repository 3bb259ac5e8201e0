"""Tasks for setting convrag up and for writing plugins: what is installed, what a run lacks, and a
new plugin.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the tasks."""
    register("task", "plugins", "convrag_kit.list_plugins:ListPluginsTask")
    register("task", "doctor", "convrag_kit.doctor:DoctorTask")
    register("task", "new_plugin", "convrag_kit.new_plugin:NewPluginTask")
