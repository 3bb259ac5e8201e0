"""`PersistentMap`: a map whose versions share what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeAlias, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_BITS = 4  # of a key's hash, for each level
_LEAF = 8  # the most entries of a leaf
_HASH_BITS = 64

_Node: TypeAlias = "dict[K, V] | tuple[_Node[K, V], ...]"


class PersistentMap(Generic[K, V]):
    """An immutable map: adding entries makes another one, and the first stays as it is.

    A hash array mapped trie (Bagwell, "Ideal hash trees", 2001): the leaves are small dictionaries, and all that an
    addition does not touch belongs to both maps. For n entries, a look-up takes O(log n) and adding m takes O(m log n).
    """

    __slots__ = ("_root",)

    def __init__(self, root: _Node[K, V] | None = None) -> None:
        self._root: _Node[K, V] = {} if root is None else root

    def get(self, key: K) -> V | None:
        """The value of a key; None where there is none."""
        node, code = self._root, hash(key)
        while isinstance(node, tuple):
            node, code = node[code & (1 << _BITS) - 1], code >> _BITS
        return node.get(key)

    def add(self, entries: Mapping[K, V]) -> PersistentMap[K, V]:
        """This map with more entries; of a key that it has, the new value counts."""
        return PersistentMap(_add(self._root, entries, 0)) if entries else self

    def filter(self, keep: Callable[[V], bool]) -> PersistentMap[K, V]:
        """This map with those entries alone whose values are to be kept; it takes O(n)."""
        return PersistentMap(_filter(self._root, keep))

    def __len__(self) -> int:
        """The number of entries, counted anew: it takes O(n)."""
        return _count(self._root)


def _add(node: _Node[K, V], entries: Mapping[K, V], shift: int) -> _Node[K, V]:
    """A node with more entries, whose hashes have been used up to the bit `shift`."""
    if not isinstance(node, tuple):
        entries = {**node, **entries}
        if len(entries) <= _LEAF or shift >= _HASH_BITS:  # after the last bit, all hashes are equal
            return entries
        node = ({},) * (1 << _BITS)
    groups: dict[int, dict[K, V]] = {}
    for key, value in entries.items():
        groups.setdefault(hash(key) >> shift & (1 << _BITS) - 1, {})[key] = value
    children = list(node)
    for place, group in groups.items():
        children[place] = _add(children[place], group, shift + _BITS)
    return tuple(children)


def _filter(node: _Node[K, V], keep: Callable[[V], bool]) -> _Node[K, V]:
    if isinstance(node, tuple):
        return tuple(_filter(child, keep) for child in node)
    return {key: value for key, value in node.items() if keep(value)}


def _count(node: _Node[K, V]) -> int:
    return sum(map(_count, node)) if isinstance(node, tuple) else len(node)
