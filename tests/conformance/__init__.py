"""Decisions recorded from Nova, compared with this scheduler's.

``python -m tests.conformance DIR`` reads a folder of recorded cases:
``clouds/<name>.<era>.json`` with database rows, and ``filters``,
``weighers``, ``schedule`` and ``hoststates`` ``.jsonl.gz`` with one case a
line.  Each case is decided like a request: rows in a SQLite database, options
in a configuration, the request in its wire form.

Adding a case needs no code.  Only a rule of ``waivers/`` can waive a case,
if Nova's eras differ and our answer is the newer one.
"""
