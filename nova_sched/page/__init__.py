"""HTML pages, made from the JSON document of a command only.

``facts`` reads the documents; ``host_map``, ``funnel`` and ``weights`` compute
the diagrams from them; ``writing`` renders the page and writes the file.
"""
