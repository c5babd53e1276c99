"""Clients for callers of the scheduler.

``query.SchedulerQueryClient`` calls a scheduler over RPC.
"""
