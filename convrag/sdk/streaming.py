"""The pieces of a model's reply, for those who listen, and work in a thread as a stream."""

from convrag.store.streaming import Stream, current_listener, listen_with
from convrag.store.values import mend_surrogates
