"""Requests decided host state by host state, through methods of Nova's.

Nova's driver and host manager take a request in steps that know host states
alone, and classes of somebody else's override them.  A request takes this way
if one does (``placing.way``), and no other request knows of it.

1. ``steps`` has the driver's steps, ``managing`` the host manager's, in Nova's
   forms of any release.  Unless overridden they do what is done by columns.
2. ``placing`` asks them in place of the columns, and has their answers as
   rows again (``host_states``): turns, claims and records know only these.
3. ``request`` is what the steps need to know of the request besides.
"""
