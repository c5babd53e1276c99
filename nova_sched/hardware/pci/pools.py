"""The free PCI devices of a host, as its compute service reports them.

A pool is a number of equal devices: a plain dict with ``vendor_id``,
``product_id``, ``numa_node`` (integer or None), ``count`` and any number of
tags.
"""

import collections
import json

from nova_sched.hardware import reports
from nova_sched.hardware.reports import UnreadableError

#: Tags that only compute services newer than Queens write.  Pools without any
#: of them are matched as in Queens.
NEWER_TAGS = frozenset(('address', 'live_migratable', 'parent_ifname',
                        'remote_managed', 'rp_uuid'))

#: Keys of a pool that are numbers.
_NUMBERS = frozenset(('numa_node', 'count'))


class Pools(reports.Report):
    """The pools of one host, in ascending order of their number of keys.

    Compute services newer than Queens write the newer form.
    """

    __slots__ = ()

    COLUMN = 'pci_stats'

    @classmethod
    def of(cls, text):
        """Return the pools of a ``pci_stats`` column; no pools for None.

        text: a versioned PciDevicePoolList; or, from before Kilo, a JSON list
            of pools or a single pool.
        """
        return cls(text or '[]')

    @property
    def plain(self):
        """The pools as plain JSON, for ``of_plain``."""
        return self.text if isinstance(self.text, str) else [*self.text]

    @classmethod
    def of_plain(cls, plain):
        """Return the pools of a value of ``plain``."""
        if isinstance(plain, str):
            return cls(plain)
        newer, text = plain
        return cls((newer, text), (tuple(json.loads(text)), newer))

    def with_pools(self, pools):
        """Return the host's report with other pools: dicts, in order."""
        newer = self.is_newer
        return Pools((newer, json.dumps(pools)), (tuple(pools), newer))

    @staticmethod
    def parse(value):
        if isinstance(value, dict) and 'nova_object.data' in value:
            pools = [_from_object(item) for item in _objects(value)]
        else:
            pools = [_pool(item, item) for item in _plain(value)]
        newer = any(not NEWER_TAGS.isdisjoint(pool) for pool in pools)
        return tuple(sorted(pools, key=len)), newer

    @property
    def pools(self):
        """The pools as a list of dicts, the caller's own."""
        return [dict(pool) for pool in self.items]

    def __iter__(self):
        return iter(self.pools)

    @property
    def free_by_node(self):
        """Counter of devices by NUMA node, with None for unknown nodes."""
        counts = collections.Counter()
        for pool in self.items:
            counts[pool['numa_node']] += pool['count']
        return counts


def _plain(value):
    items = [value] if isinstance(value, dict) else value
    if not isinstance(items, list):
        raise UnreadableError('no list of PCI pools')
    return items


def _objects(envelope):
    data = envelope['nova_object.data']
    found = data.get('objects') if isinstance(data, dict) else None
    if not isinstance(found, list):
        raise UnreadableError('a PCI pool list without objects')
    return found


def _from_object(envelope):
    data = (envelope.get('nova_object.data')
            if isinstance(envelope, dict) else None)
    if not isinstance(data, dict):
        raise UnreadableError('a PCI pool that is no object')
    return _pool(data, data.get('tags'))


def _pool(fields, tags):
    if not isinstance(fields, dict) or not isinstance(tags, dict | None):
        raise UnreadableError('a PCI pool that is no dict')
    node, number = fields.get('numa_node'), fields.get('count')
    if not isinstance(node, int | None):
        raise UnreadableError('a PCI pool with a numa_node that is no number')
    if not isinstance(number, int) or number < 0:
        raise UnreadableError('a PCI pool without a count')
    texts = {**(tags or {}), 'vendor_id': fields.get('vendor_id'),
             'product_id': fields.get('product_id')}
    return {**{name: _text(value) for name, value in texts.items()
               if name not in _NUMBERS},
            'numa_node': node, 'count': number}


def _text(value):
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return str(value)
    raise UnreadableError('a PCI pool with a tag that is no text')
