"""What makes the key of a result: hashes of values, files and source code, and versions of libraries."""

from convrag.store.fingerprint import digest, file_hash, find_version, hash_text
from convrag.store.source import hash_modules, hash_package
