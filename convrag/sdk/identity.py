"""The parts of a result's key: hashes of values, files and source code, versions of libraries."""

from convrag.store.code_hash import hash_modules as hash_modules, hash_package as hash_package
from convrag.store.fingerprint import (
    digest as digest,
    file_hash as file_hash,
    find_version as find_version,
    hash_text as hash_text,
)
