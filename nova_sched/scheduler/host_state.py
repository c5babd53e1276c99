"""One host as plug-ins see it: a view of one row of the host table."""

import functools
import json

import numpy as np


class HostState:
    """A host under the attribute names of Nova's own HostState.

    Reads go to the table, so a host shows what earlier instances of the same
    request have consumed.  Plug-ins may set attributes; these stay with the
    request.  ``limits`` is a dict that filters fill for the compute node.

    An unknown name raises AttributeError.
    """

    def __init__(self, snapshot, row):
        self._snapshot, self._row = snapshot, row
        self.limits = {}

    def __getattr__(self, name):
        if name.startswith('_'):
            raise AttributeError(name)
        try:
            return self._snapshot.cell(name, self._row)
        except KeyError:
            raise AttributeError(
                f'a host state has no attribute {name!r}') from None

    @functools.cached_property
    def allocation_candidates(self):
        """Allocation requests of Placement that would do, best first.

        A list that filters may narrow by setting another one; empty when
        Placement was not asked, as in Nova.
        """
        candidates = self._snapshot.candidates
        return [] if candidates is None else candidates.of(self.uuid)

    def block(self):
        """This host alone, as the columns a built-in rule judges."""
        return self._snapshot.block(np.array([self._row]))

    @property
    def hypervisor_hostname(self):
        """The node's name, under the name of its database column."""
        return self.nodename

    @property
    def stats(self):
        """What the compute service counts, as a dict; None if unreported."""
        stats = self._snapshot.cell('stats', self._row)
        return stats if stats is None else dict(stats)

    @property
    def service(self):
        """The row of the host's compute service, as a dict."""
        row = self._snapshot.cell('service', self._row)
        return row._asdict() | {'binary': 'nova-compute', 'topic': 'compute'}

    @property
    def supported_instances(self):
        """List of [architecture, hypervisor type, VM mode]."""
        text = self._snapshot.cell('supported_instances', self._row)
        return json.loads(text) if text else []

    @property
    def aggregates(self):
        """The Aggregate objects the host is in, as a list."""
        return list(self._snapshot.cell('aggregates', self._row))

    @property
    def instances(self):
        """Instances on the host: uuid -> Instance.

        None of them on a bare-metal node, which is one or nothing.
        """
        if self.bare_metal:
            return {}
        return self._snapshot.instances.on_host(self.host)

    @property
    def metrics(self):
        """Monitor metrics as reported: list of dicts with name and value."""
        return self._snapshot.cell('metrics', self._row).listed()

    @property
    def numa_topology(self):
        """The host's NUMA cells as reported (JSON text), or None."""
        topology = self._snapshot.cell('numa_topology', self._row)
        return None if topology is None else topology.text

    def __repr__(self):
        return (f'({self.host}, {self.nodename}) ram: {self.free_ram_mb}MB '
                f'disk: {self.free_disk_mb}MB io_ops: {self.num_io_ops} '
                f'instances: {self.num_instances}, allocation_candidates: '
                f'{len(self.allocation_candidates)}')
