"""Files that are written whole or not at all, and names for them."""

from convrag.store.files import encode_name, open_atomically, write_atomically, writing
