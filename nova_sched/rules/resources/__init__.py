"""What a request asks of Placement: groups of amounts, traits, aggregates.

``nova_sched.scheduler.utils`` makes the queries out of these parts.
"""
