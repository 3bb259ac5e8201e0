"""A grid.

* `sweep`: its cells, which of them are done, and what is said at the end.
* `callbacks`: what Hydra calls around it.
"""
