"""Threads and processes; nothing here knows what convrag is.

* `cancellation`: ends the calls of other threads, gives up compute slots while a thread waits, and
  cleans up where a process ends while a thread hangs.
* `streaming`: pieces of a reply on their way to a listener, and work in a thread as a stream.
* `locks`: locks of keys and folders across threads and processes; what a forked child does with its
  parent's.
"""
