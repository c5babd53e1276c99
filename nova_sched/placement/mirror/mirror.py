"""What requests ask of the copy."""

from oslo_log import log as logging
from oslo_utils import uuidutils

from nova_sched import exception
from nova_sched.hosts.allocation_candidates import SingleProviders
from nova_sched.placement.mirror.providers import Providers
from nova_sched.placement.mirror.reader import ProviderReader
from nova_sched.placement.mirror.shared_answers import SharedAnswers
from nova_sched.placement.mirror.upkeep import QUESTIONS
from nova_sched.placement.mirror.upkeep import Upkeep

LOG = logging.getLogger(__name__)

#: Aggregates whose members one request reads, at most: a listing takes as long
#: as some of them.
MOST_LEARNED = 4


def shared_answers(workers):
    """Return the SharedAnswers for the mirrors of workers to be forked."""
    return SharedAnswers(QUESTIONS, workers)


class PlacementMirror:
    """A copy of what Placement knows of its providers, kept up.

    adapter: PlacementAdapter.  freed, answers: as of Upkeep.

    providers: the Providers of the copy.
    """

    def __init__(self, adapter, freed=tuple, answers=None):
        self.providers = Providers()
        self._upkeep = Upkeep(ProviderReader(adapter), self.providers, freed,
                              answers)

    def start(self):
        """Begin to fill it, in the background."""
        self._upkeep.start()

    def stop(self):
        """Keep it up no longer."""
        self._upkeep.stop()

    @property
    def age(self):
        """As of Upkeep."""
        return self._upkeep.age

    def forget_aggregates(self):
        """Have the members of aggregates read again when they are asked for.
        """
        self.providers.forget_members()

    def candidates(self, queries):
        """Return who fits: SingleProviders.

        queries: list of scheduler.utils.ResourceRequest.
        None if Placement is to be asked: only it can tell, or nobody fits, or
        the copy is not complete or too old.
        """
        if self.age is None:
            return None
        missing = sorted(set().union(*map(
            self.providers.without_members, queries)))
        try:
            for aggregate in missing[:MOST_LEARNED]:
                self._learn(aggregate)
        except exception.PlacementError as error:
            LOG.debug('Asking Placement for candidates: %s', error)
            return None
        found = [self.providers.matching(query) for query in queries]
        rows = found[0][0]
        if any(fits is None or others is not rows for others, fits in found):
            return None
        offered = SingleProviders(rows, [
            (query.groups[''].resources, fits)
            for query, (_, fits) in zip(queries, found, strict=True)])
        return offered or None

    def _learn(self, aggregate):
        if uuidutils.is_uuid_like(aggregate):
            self._upkeep.learn(aggregate)

    def doubt(self, uuids):
        """Offer providers no more until they are read anew.

        Placement has contradicted what is known of them.
        """
        self.providers.doubt(uuids)
        self._upkeep.doubt(uuids)
