"""Interruptions, for a task that reads a terminal."""

from convrag.cli.signals import keep_watching as keep_watching, resume as resume
