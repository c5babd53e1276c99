"""Lookups in the Placement mirror by scheduling requests."""

import threading
import time

from oslo_log import log as logging
from oslo_utils import uuidutils

from nova_sched import exception
from nova_sched.concurrency import turns
from nova_sched.hosts.allocation_candidates import SingleProviders
from nova_sched.placement.mirror.providers import Providers
from nova_sched.placement.mirror.reader import ProviderReader
from nova_sched.placement.mirror.upkeep import Upkeep

LOG = logging.getLogger(__name__)

#: Maximum number of aggregates whose members one request reads.  A candidates
#: query costs as much as a few such reads.
MOST_AGGREGATES = 4
#: Maximum number of providers of new compute nodes that one request reads, and
#: seconds after which it starts no further read.  It waits for the same time
#: while another request reads providers.
MOST_NODES, NODES_PATIENCE = 4, 1


class PlacementMirror:
    """A mirror of Placement's resource providers.

    adapter: PlacementAdapter.
    freed: function that returns the uuids of nodes with freed resources, see
        Upkeep.
    responses: SharedResponses, see Upkeep.

    providers: the Providers of the mirror.
    """

    def __init__(self, adapter, freed=tuple, responses=None):
        self.providers = Providers()
        self._upkeep = Upkeep(ProviderReader(adapter), self.providers, freed,
                              responses)
        self._reading_nodes = threading.Lock()
        # Compute nodes at the last call; nodes that were read already, but
        # whose provider had no inventory.
        self._seen, self._tried = frozenset(), set()

    def start(self):
        """Start to fill the mirror, in the background."""
        self._upkeep.start()

    def stop(self):
        """Stop updating the mirror."""
        self._upkeep.stop()

    @property
    def age(self):
        """Seconds since the last update, see Upkeep.age."""
        return self._upkeep.age

    def forget_aggregates(self):
        """Forget the members of aggregates; requests read them again."""
        self.providers.forget_members()

    def candidates(self, queries):
        """Return the candidates for queries: SingleProviders.

        queries: list of scheduler.utils.ResourceRequest.
        None if Placement must be queried: the mirror does not support the
        query, has no candidates, is incomplete or is too old.
        """
        if self.age is None:
            return None
        missing = sorted(set().union(*map(
            self.providers.without_members, queries)))
        try:
            for aggregate in filter(uuidutils.is_uuid_like,
                                    missing[:MOST_AGGREGATES]):
                self._upkeep.read_aggregate(aggregate)
        except exception.PlacementError as error:
            LOG.debug('Querying Placement for candidates: %s', error)
            return None
        matches = [self.providers.matching(query) for query in queries]
        rows = matches[0][0]
        # The rows differ if providers were added or removed in between.
        if any(fits is None or other is not rows for other, fits in matches):
            return None
        offered = SingleProviders(rows, [
            (query.groups[''].resources, fits)
            for query, (_, fits) in zip(queries, matches, strict=True)])
        return offered or None

    def read_nodes(self, uuids):
        """Read the providers of compute nodes that the mirror lacks.

        Each is read once here, even if Placement does not have it yet (a
        compute service creates its node first); then Upkeep takes over.
        uuids: list of the uuids of all compute nodes.
        Returns whether all lacking providers have been read; False if another
        request reads for too long.
        """
        with turns.waiting():
            acquired = self._reading_nodes.acquire(timeout=NODES_PATIENCE)
        if not acquired:
            return False
        try:
            return self._read_nodes(uuids)
        finally:
            self._reading_nodes.release()

    def _read_nodes(self, uuids):
        lacking = list(filter(uuidutils.is_uuid_like,
                              self.providers.lacking(uuids)))
        self._tried.intersection_update(lacking)
        # The newest nodes are probably hosts that have just started.
        untried = sorted((uuid for uuid in lacking
                          if uuid not in self._tried),
                         key=self._seen.__contains__)
        self._seen, missing = frozenset(uuids), []
        end = time.monotonic() + NODES_PATIENCE
        for uuid in untried[:MOST_NODES]:
            if time.monotonic() > end:
                break
            self._tried.add(uuid)
            try:
                if self._upkeep.read_node(uuid):
                    continue
            except exception.PlacementError as error:
                LOG.debug('Could not read the provider of compute node %s: %s',
                          uuid, error)
            missing.append(uuid)
        self._upkeep.expect(missing)
        return self._tried.issuperset(lacking)

    def invalidate(self, uuids):
        """Exclude providers until they are read again.

        Called if Placement contradicts the mirror's data.
        """
        self.providers.invalidate(uuids)
        self._upkeep.read_soon(uuids)
