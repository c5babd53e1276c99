"""Requests decided host state by host state, through methods of Nova's.

The methods of Nova's driver and host manager work on host states, and plug-ins
override them.  ``driver.in_front_of`` adds ``driver.RowApi`` to the class of a
driver, which decides by these methods if any is overridden.

1. ``nova_scheduler`` has the driver's steps, ``nova_host_manager`` those of
   the host manager, with Nova's signatures of any release.  Methods without
   an override work by columns.
2. ``attempt`` calls them in place of the columns, and turns their results
   into rows again (``host_states``): locks, claims and records know only rows.
3. ``request`` has the request's other data for these methods.
"""
