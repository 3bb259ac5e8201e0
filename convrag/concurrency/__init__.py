"""Threads and processes; nothing here knows what convrag is.

* `cancellation`: ends the calls of other threads, and cleans up where a process ends meanwhile.
* `exits`: tells an exit or a cancellation that a plugin's code raised from one of the process.
* `streaming`: pieces of a reply on their way to a listener, and work in a thread as a stream.
* `slots`: lets a few threads compute at a time, while the others wait for servers.
* `locks`: locks of keys and folders across threads and processes; what a forked child does with its
  parent's.
"""
