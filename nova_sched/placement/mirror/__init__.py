"""A mirror of Placement's resource providers in memory.

Listing the allocation candidates takes most of the time of a request; with the
mirror only the claim remains.

``providers``: the data in columns, and which providers fit a query.
``reader``: the queries to Placement.
``upkeep``: fills the mirror and keeps it up to date, in the background.
``mirror``: the interface for requests.

Placement still decides: it may refuse any claim, and it is queried itself
before a request is refused.
"""
