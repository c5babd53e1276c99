"""The hosts that live schedulers picked, and the instances they refused.

With Placement, an instance's allocation shows the pick at once. Without it,
the instance's row shows the host as soon as the compute service has taken the
instance. A conductor maps a refused instance to cell0.
"""

import sqlalchemy as sa

from nova_sched import exception
from nova_sched.db import cells
from nova_sched.db import engine
from nova_sched.db import reader
from nova_sched.db import tables


class LivePicks:
    """Reader of the live decisions on instances.

    conf: ConfigOpts.
    decider: dry_run.decider.Decider; provides the hosts, and the connection
        to Placement.

    Its methods raise DatabaseUnavailable and, with Placement, PlacementError.
    """

    def __init__(self, conf, decider):
        self._conf, self._decider = conf, decider
        self._placement = decider.placement
        self._reader = reader.HostReader(conf, compute_node_columns=(
            'uuid', 'host', 'hypervisor_hostname'))
        self._cell0 = None

    def close(self):
        """Close idle connections."""
        self._reader.close()
        if self._cell0 is not None:
            self._cell0.close()

    def held(self, uuid):
        """Return an instance's allocations: provider -> class -> amount.

        Without Placement, the host's name replaces the provider, and the
        amounts are empty.
        """
        if self._placement is not None:
            return self._placement.consumer_allocations(uuid)
        return {host: {} for host
                in self._reader.locate_instances([uuid]).values()}

    def find_places(self, uuids, held_before):
        """Return where instances were placed: uuid -> (host, node).

        Instances without a new place are missing.
        held_before: uuid -> allocations before the request, see ``held``;
            these are not the new place.
        """
        if self._placement is None:
            hosts = self._reader.locate_instances(uuids)
            return {uuid: (host, None) for uuid, host in hosts.items()
                    if host not in held_before.get(uuid, ())}
        places = {}
        for uuid in uuids:
            providers = (self._placement.consumer_allocations(uuid).keys()
                         - held_before.get(uuid, {}))
            if not providers:
                # Instances of one request are claimed one after the other.
                break
            places[uuid] = self._place(sorted(providers))
        return places

    def refresh_cells(self):
        """Read the cell mappings again."""
        self._reader.set_cells(self._reader.find_cells())

    def hosts_of(self, uuids):
        """Return the names of the hosts in the instances' rows: set."""
        return set(self._reader.locate_instances(uuids).values())

    def find_refused(self, uuids):
        """Return the instances in error without a host: set of uuids."""
        if self._cell0 is None:
            self._cell0 = engine.Database(
                self._cell0_url(), engine.options_from(self._conf))
        c = tables.instances.c
        with self._cell0.reading() as connection:
            return set(connection.execute(sa.select(c.uuid).where(
                c.uuid.in_(uuids), c.vm_state == 'error', c.host.is_(None),
                c.deleted == 0)).scalars())

    def _cell0_url(self):
        """Return the URL of cell0's database.

        By default, without a mapping of cell0, that of ``[database]``.
        """
        row = cells.find_cell0(self._conf)
        try:
            return (engine.connection_url(self._conf) if row is None
                    else cells.mapping_url(row, self._conf))
        except exception.ConfigurationError as exc:
            raise exception.DatabaseUnavailable(
                f'cell0 cannot be read: {exc}') from exc

    def _place(self, providers):
        """Return the (host, node) of the first known provider."""
        place = self._known_place(providers)
        if place is None:
            providers = [self._placement.root_provider(uuid)
                         for uuid in providers]
            place = self._known_place(providers)
        if place is None:
            # The host may be new.
            self._decider.refresh()
            place = self._known_place(providers)
        return place or (f'of provider {providers[0]}', None)

    def _known_place(self, providers):
        table = self._decider.table()
        places = {} if table is None else dict(zip(
            table.columns['uuid'].items(), table.keys(), strict=True))
        return next(filter(None, map(places.get, providers)), None)
