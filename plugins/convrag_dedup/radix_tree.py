"""A radix tree over token sequences, which finds the longest prefix that a sequence shares with earlier ones."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


class RadixTree:
    """Sequences as paths from the root; a node holds a run of tokens, as in SGLang's RadixAttention (Zheng, 2024)."""

    def __init__(self) -> None:
        self._root = _Node(())

    def add(self, tokens: Sequence[Hashable]) -> int:
        """Add a sequence; gives the length of its longest prefix that an earlier sequence begins with."""
        node, position = self._root, 0
        while position < len(tokens):
            child = node.children.get(tokens[position])
            if child is None:
                node.children[tokens[position]] = _Node(tuple(tokens[position:]))
                break
            shared = _count_shared(child.run, tokens, position)
            position += shared
            if shared < len(child.run):
                child.split(shared)
                if position < len(tokens):
                    child.children[tokens[position]] = _Node(tuple(tokens[position:]))
                break
            node = child
        return position


class _Node:
    """A run of tokens, and what follows it, by first token."""

    def __init__(self, run: tuple[Hashable, ...]) -> None:
        self.run = run
        self.children: dict[Hashable, _Node] = {}

    def split(self, length: int) -> None:
        """Keep the first tokens of the run, and move the others to a new child."""
        rest = _Node(self.run[length:])
        rest.children = self.children
        self.run, self.children = self.run[:length], {rest.run[0]: rest}


def _count_shared(run: tuple[Hashable, ...], tokens: Sequence[Hashable], start: int) -> int:
    """How many tokens of the run are those of the sequence from `start` on."""
    length = 0
    for ours, theirs in zip(run, tokens[start : start + len(run)], strict=False):
        if ours != theirs:
            break
        length += 1
    return length
