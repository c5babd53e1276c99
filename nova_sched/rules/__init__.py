"""What filters and weighers share; the rules themselves are next door,
in ``scheduler/filters`` and ``scheduler/weights``.
"""
