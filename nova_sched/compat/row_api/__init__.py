"""Requests decided host state by host state, through methods of Nova's.

Nova's driver and host manager decide a request in steps that know host states
only, and other authors' classes override them.  ``drivers.load`` puts
``driver.RowApi`` in front of such a driver; no other driver knows of it.

1. ``nova_scheduler`` has the driver's steps, ``nova_host_manager`` those of
   the host manager, with Nova's signatures of any release.  What is not
   overridden is done by columns.
2. ``attempt`` calls them in place of the columns, and turns their results
   into rows again (``host_states``): locks, claims and records know only rows.
3. ``request`` has what the steps need to know of the request besides.
"""
