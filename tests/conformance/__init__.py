"""Decisions recorded from Nova itself, put to this scheduler.

``python -m tests.conformance DIR`` reads a folder of recorded cases:
``clouds/<name>.<era>.json`` with database rows, and ``filters``,
``weighers``, ``schedule`` and ``hoststates`` ``.jsonl.gz`` with one case a
line.  Every case goes the way a request goes: rows into a SQLite database,
options into a configuration, the request in its wire form.

Adding a case needs no code.  A case of Queens may be waived, by a rule of
``waivers/`` only, where Nova's eras differ and the newer answer is ours.
"""
