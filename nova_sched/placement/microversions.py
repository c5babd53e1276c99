"""The microversions of Placement's API: of a server, and those used."""

import dataclasses

from keystoneauth1 import discover

from nova_sched import exception
from nova_sched.hosts.allocation_candidates import FORMS

#: The newest that requests to claim are written for. Callers claim the
#: alternates of an answer in that of the candidates, and from 1.38 on
#: Placement wants a word from them that Nova does not say.
CLAIMS = '1.36'

AGGREGATES = '1.19'         # lists of a provider's aggregates
GENERATIONS = '1.28'        # consumers have a generation
STEIN = '1.29'              # what Nova asked when it stopped adding up
MAPPINGS = '1.34'           # candidates say which group a provider serves


class PlacementTooOld(exception.PlacementError):
    """A server has no microversion that can say what is asked."""


def at_least(version, least):
    """Return whether a microversion is another one or newer: both texts."""
    return discover.version_between(least, None, version)


@dataclasses.dataclass(frozen=True)
class MicroversionRange:
    """The microversions that a server supports: from least to most, texts."""

    least: str
    most: str

    @classmethod
    def of(cls, document):
        """Read what ``GET /`` answers; ValueError if it is not that."""
        try:
            (found, *_) = document['versions']
            for text in (found['min_version'], found['max_version']):
                discover.normalize_version_number(text)
            return cls(found['min_version'], found['max_version'])
        except (KeyError, TypeError, ValueError) as exc:
            raise ValueError('it lists no microversions') from exc

    def newest(self, least=FORMS[0], most=FORMS[-1]):
        """Return the newest supported of FORMS within bounds, or None."""
        return next((
            form for form in reversed(FORMS)
            if discover.version_between(least, most, form)
            and discover.version_between(self.least, self.most, form)), None)

    def for_query(self, least):
        """Return the microversion for a query that needs one at least.

        Not newer than what claims are made in, unless that is too old.
        Raises PlacementTooOld.
        """
        most = least if at_least(least, CLAIMS) else CLAIMS
        version = self.newest(least, most)
        if version is None:
            raise PlacementTooOld(
                f'Placement speaks microversions {self.least} to {self.most}, '
                f'but this request takes {least}: upgrade Placement, or ask '
                f'without what needs it')
        return version
