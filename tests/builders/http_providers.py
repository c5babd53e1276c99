"""A Placement over HTTP with providers, as far as a mirror reads them.

tests/interop has the real Placement.
"""

import copy
import re
import threading
import urllib.parse

from tests.builders.http_placement import FULL
from tests.builders.http_placement import TAKEN
from tests.builders.http_server import Answer

GONE = Answer(404, {'errors': []})


class Providers:
    """Providers behind a Server of http_placement.

    there: uuid -> dict with generation, parent, inventories, used, traits and
    aggregates.  Claims are granted if there is room.
    """

    def __init__(self, server):
        self.there, self._consumers = {}, {}
        self._lock = threading.Lock()
        server.on('GET', '/resource_providers', self._read)
        server.on('GET', '/allocation_candidates', self._candidates)
        server.on('PUT', '/allocations/', self._put)
        server.on('POST', '/allocations', self._post)
        server.on('DELETE', '/allocations/', self._delete)

    def add(self, uuid, vcpus=4, used=0, traits=(), aggregates=(),
            generation=1, parent=None, others=None, **fields):
        """Add or replace a provider.

        used: VCPUs.  others: resource class -> total, besides VCPU.
        fields: of the inventory of VCPU.
        """
        inventories = {
            name: {'total': total, 'reserved': 0, 'allocation_ratio': 1.0,
                   'min_unit': 1, 'max_unit': total, 'step_size': 1}
            for name, total in {'VCPU': vcpus, **(others or {})}.items()}
        inventories['VCPU'] |= fields
        self.there[uuid] = {
            'generation': generation, 'parent': parent,
            'inventories': inventories,
            'used': {name: used * (name == 'VCPU') for name in inventories},
            'traits': list(traits), 'aggregates': list(aggregates)}

    def used(self, uuid):
        """The number of used VCPUs of a provider."""
        return self.there[uuid]['used']['VCPU']

    def _read(self, asked):
        path, _, query = asked.path.partition('?')
        part = re.fullmatch('/resource_providers/([^/]+)/(.+)', path)
        if part:
            return self._part(*part.groups())
        aggregate = query.removeprefix('member_of=')
        return Answer(body={'resource_providers': [
            {'uuid': uuid, 'name': uuid, 'generation': each['generation'],
             'parent_provider_uuid': each['parent'],
             'root_provider_uuid': each['parent'] or uuid}
            for uuid, each in self.there.items()
            if not query or aggregate in each['aggregates']]})

    def _part(self, uuid, name):
        each = self.there.get(uuid)
        if each is None:
            return GONE
        return Answer(body={
            name: each['used' if name == 'usages' else name],
            'resource_provider_generation': each['generation']})

    def _candidates(self, asked):
        query = dict(urllib.parse.parse_qsl(asked.path.partition('?')[2]))
        wanted = {name: int(amount) for name, amount in (
            each.split(':') for each in query['resources'].split(','))}
        fitting = {uuid: each for uuid, each in self.there.items()
                   if _is_listed(each, wanted)}
        return Answer(body={
            'allocation_requests': [
                {'allocations': {uuid: {'resources': wanted}},
                 'mappings': {'': [uuid]}} for uuid in fitting],
            'provider_summaries': {uuid: {
                'resources': {name: {'capacity': inventory['total'],
                                     'used': each['used'][name]}
                              for name, inventory
                              in each['inventories'].items()},
                'traits': each['traits'],
                'parent_provider_uuid': each['parent'],
                'root_provider_uuid': each['parent'] or uuid}
                for uuid, each in fitting.items()}})

    def _put(self, asked):
        return self._write({asked.path.rpartition('/')[2]: asked.body})

    def _post(self, asked):
        return self._write(asked.body)

    def _write(self, bodies):
        """Grant claims of new consumers, or releases, all or none."""
        with self._lock:
            before, named = copy.deepcopy(self.there), set()
            for consumer, body in bodies.items():
                wanted = body['allocations']
                if not all(_has_room(self.there[uuid], each['resources'])
                           for uuid, each in wanted.items()):
                    self.there.update(before)
                    return FULL
                held = wanted or self._consumers.pop(consumer, {})
                self._use(held, 1 if wanted else -1)
                named |= held.keys()
            for uuid in named:
                self.there[uuid]['generation'] += 1
            for consumer, body in bodies.items():
                if body['allocations']:
                    self._consumers[consumer] = body['allocations']
        return TAKEN

    def _delete(self, asked):
        with self._lock:
            self._use(self._consumers.pop(
                asked.path.rpartition('/')[2], {}), -1)
        return TAKEN

    def _use(self, wanted, sign):
        for uuid, held in wanted.items():
            each = self.there[uuid]
            for name, amount in held['resources'].items():
                each['used'][name] += sign * amount


def _is_listed(each, wanted):
    """Whether there is room, or the inventory cannot be compared."""
    try:
        return _has_room(each, wanted)
    except TypeError:
        return True


def _has_room(each, wanted):
    return all(each['used'].get(name, 0) + amount
               <= each['inventories'].get(name, {'total': 0})['total']
               for name, amount in wanted.items())
