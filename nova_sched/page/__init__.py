"""A page to look at, made of the JSON document of a command alone.

``facts`` reads the documents, ``host_map``, ``funnel`` and ``weights`` make of
them what is drawn, ``writing`` makes HTML of that, and a file.
"""
