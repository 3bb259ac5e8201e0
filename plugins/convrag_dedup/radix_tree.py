"""A radix tree over token sequences: how much of a sequence is the beginning of one that was there before."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


class RadixTree:
    """Sequences as paths from the root; an edge holds a run of tokens, as in SGLang's RadixAttention (Zheng, 2024)."""

    def __init__(self) -> None:
        self._root = _Node(())

    def add(self, tokens: Sequence[Hashable]) -> int:
        """Add a sequence; gives how many of its first tokens were the beginning of an earlier one."""
        node, place = self._root, 0
        while place < len(tokens):
            child = node.children.get(tokens[place])
            if child is None:
                node.children[tokens[place]] = _Node(tuple(tokens[place:]))
                break
            shared = _shared(child.run, tokens, place)
            place += shared
            if shared < len(child.run):
                child.split(shared)
                if place < len(tokens):
                    child.children[tokens[place]] = _Node(tuple(tokens[place:]))
                break
            node = child
        return place


class _Node:
    def __init__(self, run: tuple[Hashable, ...]) -> None:
        self.run = run
        self.children: dict[Hashable, _Node] = {}

    def split(self, length: int) -> None:
        """Keep the first tokens of the run, and hand the others down to a child."""
        rest = _Node(self.run[length:])
        rest.children = self.children
        self.run, self.children = self.run[:length], {rest.run[0]: rest}


def _shared(run: tuple[Hashable, ...], tokens: Sequence[Hashable], start: int) -> int:
    length = 0
    for mine, other in zip(run, tokens[start : start + len(run)], strict=False):
        if mine != other:
            break
        length += 1
    return length
