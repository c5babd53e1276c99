"""Request filters, which edit a request before the query to Placement.

Each has Nova's name and the arguments ``(spec_obj, facts, options)``.  It
edits the RequestSpec in place and returns whether it applies.  ``facts`` and
``options`` are those of ``nova_sched.scheduler.request_filter``, which runs
the filters.  A filter only adds conditions: the lists of aggregates that
several filters require are combined by "and".
"""
