"""Tasks for setting convrag up and for writing plugins: what is installed, what a run lacks, and a new plugin."""

from convrag import Register, hookimpl
from convrag_kit.doctor import DoctorTask
from convrag_kit.list_plugins import ListPluginsTask
from convrag_kit.new_plugin import NewPluginTask

__all__ = ["DoctorTask", "ListPluginsTask", "NewPluginTask", "convrag_register"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the tasks."""
    register("task", "plugins", ListPluginsTask)
    register("task", "doctor", DoctorTask)
    register("task", "new_plugin", NewPluginTask)
