"""The results of stages on disk, each computed once, and the usage of the calls that computed them.

* `store`: values and folders, by key.
* `entries`: what the store asks of a database.
* `sqlite_entries`: values in SQLite, with file locks.
* `remember`: stage methods that look for their results in the store first.
* `attempts`: turns that are answered again use no reply of an earlier attempt.
* `results`: the results of one remembered method in the store.
* `codecs`: results as bytes.
* `marked_json`: plain data and dataclasses as JSON with marks for what JSON cannot say.
* `value_classes`: the classes whose objects a remembered method may return.
* `replies`: replies of language models are kept in any case, since they were paid for.
* `strict_json`: JSON without NaN and infinities, which are no JSON.
* `surrogates`: half surrogate pairs in replies.
* `postgres_entries`: values in PostgreSQL, for processes on many machines.
* `postgres_tables`: its tables.
* `postgres_locks`: locks by key in PostgreSQL.
* `unlock_listener`: threads are woken when another process has freed a key in PostgreSQL.
* `postgres_connections`: the connections of a process to PostgreSQL, taken up again where they drop.
* `postgres_address`: the address of a PostgreSQL store, and what is said where it cannot be used.
* `connection`: the connection of a process to the database in SQLite.
* `database`: the table of entries in SQLite, each with a checksum.
* `salvage`: a damaged database is replaced by a new one with all entries that can be read.
* `folders`: built folders, each built once, and removed when another one has taken its place.
* `holds`: folders that a process uses are not removed by another one.
* `manifest`: what a built folder holds, so that damaged and missing files are found.
* `fingerprint`: hashes of stages, values and files, of which keys are made.
* `source`: hashes of the source code that the results of a class depend on.
* `imports`: the modules of convrag that source code imports.
* `locks`: locks by key, across threads and processes.
* `folder_lock`: a folder is written by one process at a time.
* `forking`: a process and its forked children share neither locks nor connections.
* `cancellation`: the calls of a thread are ended from another one.
* `compute_slots`: threads that mostly wait for servers compute a few at a time.
* `abandonment`: what is cleaned up where a process ends while a thread hangs.
* `disk`: what is said where files cannot be written.
* `atomic`: files that are written whole or not at all.
* `file_names`: file names made of a user's names, so that no name becomes a path.
* `usage`: the seconds, calls, tokens and costs of each stage in a turn.
* `streaming`: the pieces of an LLM's reply on their way to a listener.
"""
