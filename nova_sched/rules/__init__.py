"""Code that filters and weighers share.

The filters and weighers themselves are in ``scheduler/filters`` and
``scheduler/weights``.
"""
