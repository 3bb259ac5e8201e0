"""`task=doctor`: what stands in the way of a run."""

from convrag import Register, hookimpl
from convrag_doctor.task import Doctor

__all__ = ["Doctor", "convrag_register"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Offer the task."""
    register("task", "doctor", Doctor)
