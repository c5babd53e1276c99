"""Request filters: what edits a request before Placement is asked.

Each is a function of Nova's name, ``(spec_obj, facts, options)``, that edits
the RequestSpec in place and returns whether it had anything to do.  facts,
options: see ``nova_sched.scheduler.request_filter``, which runs them.  What
a filter adds narrows what is there: aggregates are joined by "and".
"""
