"""A copy of what Placement knows of its resource providers.

Listing the allocation candidates of a request is nearly all that the request
takes; with a copy it costs the claim alone.

``providers``: the copy, in columns, and which of them fit a query.
``reader``: the questions to Placement that it is made from.
``upkeep``: how it is filled and kept up, in the background.
``mirror``: what requests ask of it.

Placement decides all the same: it may refuse any claim, and it is asked
itself before a request is refused.
"""
