"""Rules that explain differences to recorded answers, never by a case's id.

Each rule is a function of a ``facts.Difference`` that returns an explanation
or None; a difference without an explanation is a failure.

A topic is a module with ``FILTERS``, ``WEIGHERS``, ``SCHEDULE`` or
``HOSTSTATES``: tuples of rules for cases of that kind. Rules that hold for
Queens only look at ``difference.is_queens``.
"""

import logging

from tests.conformance.waivers import aggregates
from tests.conformance.waivers import capacity
from tests.conformance.waivers import hoststates
from tests.conformance.waivers import numa
from tests.conformance.waivers import queens
from tests.conformance.waivers import raised
from tests.conformance.waivers import schedule
from tests.conformance.waivers import weights

LOG = logging.getLogger(__name__)

_TOPICS = (aggregates, capacity, raised, queens, hoststates, weights, numa,
           schedule)


def reason(difference):
    """The explanation of a difference, or None."""
    kind = difference.case['kind'].upper()
    for topic in _TOPICS:
        for rule in getattr(topic, kind, ()):
            text = _applied(rule, difference)
            if text:
                return text
    return None


def _applied(rule, difference):
    """The result of a rule; a rule that raises waives nothing."""
    try:
        return rule(difference)
    except Exception:
        LOG.exception('%s: the waiver %s failed', difference.case['id'],
                      rule.__name__)
        return None
