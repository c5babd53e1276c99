"""Plug-ins that are written for Nova, and requests of before Mitaka.

Nova's module names (``nova_names``, ``nova/``), its drivers, host managers and
rules that read one host at a time (``row_api/``, ``row_rules``), and the dicts
that RPC callers sent before version 4.3 (``legacy/``).
"""
