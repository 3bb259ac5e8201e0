"""Installed libraries, and what to install where one is missing."""

from convrag.api.errors import is_installed as is_installed, missing_extra as missing_extra
