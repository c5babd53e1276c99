"""What requests ask of the copy."""

import threading
import time

from oslo_log import log as logging
from oslo_utils import uuidutils

from nova_sched import exception
from nova_sched.concurrency import turns
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
#: Providers of new compute nodes that one request reads, at most, and the
#: seconds after which it begins with no other one, or waits for no other
#: request that reads some.
MOST_NODES, NODES_PATIENCE = 4, 1


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
        self._learning = threading.Lock()
        # Compute nodes as of the last look, and those of them without an
        # inventory that were read.
        self._seen, self._tried = frozenset(), set()

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

    def learn_nodes(self, uuids):
        """Read the providers of some compute nodes that the copy lacks.

        Each is read once, whether or not Placement has it: a node comes
        before its provider.  Afterwards it is up to Upkeep.
        uuids: of all compute nodes: list.
        Returns whether none is left to be read.
        """
        with turns.waiting():
            is_alone = self._learning.acquire(timeout=NODES_PATIENCE)
        if not is_alone:
            return False
        try:
            return self._learn_nodes(uuids)
        finally:
            self._learning.release()

    def _learn_nodes(self, uuids):
        lacking = list(filter(uuidutils.is_uuid_like,
                              self.providers.lacking(uuids)))
        self._tried.intersection_update(lacking)
        # Those that came last are hosts that have just started.
        untried = sorted((uuid for uuid in lacking
                          if uuid not in self._tried),
                         key=self._seen.__contains__)
        self._seen, missing = frozenset(uuids), []
        end = time.monotonic() + NODES_PATIENCE
        for uuid in untried[:MOST_NODES]:
            if time.monotonic() > end:
                break
            self._tried.add(uuid)
            if not self._learn_node(uuid):
                missing.append(uuid)
        self._upkeep.expect(missing)
        return self._tried.issuperset(lacking)

    def _learn_node(self, uuid):
        try:
            return self._upkeep.learn_node(uuid)
        except exception.PlacementError as error:
            LOG.debug('The provider of compute node %(uuid)s is not known: '
                      '%(error)s', {'uuid': uuid, 'error': error})
            return False

    def doubt(self, uuids):
        """Offer providers no more until they are read anew.

        Placement has contradicted what is known of them.
        """
        self.providers.doubt(uuids)
        self._upkeep.doubt(uuids)
