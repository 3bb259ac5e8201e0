"""What a plugin implements and is given.

* `stages`: one abstract class for each stage of a turn, with one main method.
* `types`: what flows between the stages, and what runs and sweeps are told as.
* `hookspecs`: the hooks of a plugin.
* `errors`: what can go wrong.
"""
