"""What the picks of a request change for its next instance."""

import enum


class Reach(enum.Enum):
    """Of which hosts a rule may say something else after a pick."""

    NO_HOST = 'no host'
    #: Of the host that was picked, with all its nodes.
    PICKED_HOST = 'picked host'
    ANY_HOST = 'any host'
