"""What callers of the scheduler import.

``query.SchedulerQueryClient`` asks a scheduler over RPC.
"""
