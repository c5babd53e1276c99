"""Where the live schedulers have put instances, and of which they have not.

What an instance holds in Placement tells it at once; where none is
configured, the host in its row does, as soon as a compute service has taken
it. An instance that was refused is put into cell0 by its conductor.
"""

import numpy as np
import sqlalchemy as sa

from nova_sched import exception
from nova_sched.db import api_reader
from nova_sched.db import cells
from nova_sched.db import engine
from nova_sched.db import reader
from nova_sched.db import tables


class LivePicks:
    """Reads what became of instances.

    conf: ConfigOpts.  placement: reading.ReadOnly, or None.
    hosts: decide.Decider, of which ``table`` and ``refresh`` are used.
    """

    def __init__(self, conf, placement, hosts):
        self._conf, self._placement, self._hosts = conf, placement, hosts
        self._reader = reader.HostReader(conf, compute_node_columns=(
            'uuid', 'host', 'hypervisor_hostname'))
        self._failed = None

    def close(self):
        """Close idle connections."""
        self._reader.close()
        if self._failed is not None:
            self._failed.close()

    def held(self, uuid):
        """What an instance has: provider -> class -> amount, or its host.

        Raises PlacementError, DatabaseUnavailable.
        """
        if self._placement is not None:
            return self._placement.held(uuid)
        return {host: {} for host
                in self._reader.locate_instances([uuid]).values()}

    def places(self, uuids, before):
        """Of those that a live scheduler has placed: uuid -> (host, node).

        before: uuid -> what ``held`` told before; what an instance had then
            is not its new place.
        Raises PlacementError, DatabaseUnavailable.
        """
        if self._placement is None:
            found = self._reader.locate_instances(uuids)
            return {uuid: (host, None) for uuid, host in found.items()
                    if host not in before.get(uuid, ())}
        found = {}
        for uuid in uuids:
            new = self._placement.held(uuid).keys() - before.get(uuid, {})
            if not new:
                # Instances of one request are claimed one after the other.
                break
            found[uuid] = self._place(sorted(new))
        return found

    def refresh(self):
        """Find the cells anew.  Raises DatabaseUnavailable."""
        self._reader.use(self._reader.find_cells())

    def running(self, uuids):
        """The hosts on which the instances show: set of names.

        Raises DatabaseUnavailable.
        """
        return set(self._reader.locate_instances(uuids).values())

    def refused(self, uuids):
        """Which of the instances have failed for want of a host: set.

        Raises DatabaseUnavailable.
        """
        if self._failed is None:
            self._failed = engine.Database(
                self._graveyard(), engine.options_from(self._conf))
        c = tables.instances.c
        with self._failed.reading() as connection:
            return set(connection.execute(sa.select(c.uuid).where(
                c.uuid.in_(uuids), c.vm_state == 'error', c.host.is_(None),
                c.deleted == 0)).scalars())

    def _graveyard(self):
        """URL of the database of instances without a host: cell0's.

        That of ``[database]`` where cell0 is not mapped.
        """
        url = engine.connection_url(self._conf)
        if not self._conf.api_database.connection:
            return url
        api = engine.database(self._conf, 'api_database')
        rows = api_reader.ApiReader(api).cell_mappings()
        api.close()
        try:
            return next((
                cells.filled_in(row['database_connection'] or '', url)
                for row in rows if row['uuid'] == cells.CELL0_UUID), url)
        except exception.ConfigurationError as exc:
            raise exception.DatabaseUnavailable(
                f'cell0 cannot be read: {exc}') from exc

    def _place(self, providers):
        """The (host, node) that one of the providers is of."""
        found = self._known(providers)
        if found is None:
            providers = [self._placement.root(uuid) for uuid in providers]
            found = self._known(providers)
        if found is None:
            # It may have come since.
            self._hosts.refresh()
            found = self._known(providers)
        return found or (f'of provider {providers[0]}', None)

    def _known(self, providers):
        table = self._hosts.table()
        column = None if table is None else table.columns['uuid']
        for uuid in providers if column is not None else ():
            rows = np.flatnonzero(column.codes == column.code(uuid))
            if len(rows):
                return tuple(name.values[name.codes.item(rows[0])] for name
                             in (table.columns['host'],
                                 table.columns['nodename']))
        return None
