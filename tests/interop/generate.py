"""Random requests for two schedulers, by a seed, without expected answers."""

import dataclasses
import json
import random
import uuid

from nova_sched import objects
from tests.builders import requests
from tests.interop import generate_moves
from tests.interop import generate_wishes
from tests.interop import rig_world

#: Topic of a question -> functions that add to its Draft, in order.
TOPICS = {
    **{name: (wish,) for name, wish in generate_wishes.WISHES.items()},
    **{name: (move,) for name, move in generate_moves.MOVES.items()},
}
#: Topics that can be combined with each other.
_MIXED = ('flavor traits', 'image traits', 'zone', 'aggregates',
          'ignored hosts', 'cell', 'volume', 'tenant', 'several',
          'granular groups', 'ports', 'image', 'server group', 'beside',
          'capabilities', 'overrides')


@dataclasses.dataclass
class Question:
    """A call of select_destinations, and allocations before it.

    spec: the RequestSpec as a primitive.  uuids: of the instances.
    held: consumer -> provider -> resource class -> amount in Placement.
    """

    topic: str
    spec: dict
    uuids: list
    held: dict

    @property
    def consumers(self):
        """The consumers whose allocations the answer may change."""
        return list(dict.fromkeys([*self.uuids, *self.held]))

    @property
    def text(self):
        return json.dumps([self.spec, self.uuids, self.held])


class Draft:
    """A builder of a Question.

    random: random.Random.  world: World.  cells: name -> fields of the
    mapping.  request: keywords of a_request.  uuids, held: as of Question.
    The other attributes are parts of the request.
    """

    def __init__(self, draw, world, cells):
        self.random, self.world, self.cells = draw, world, cells
        self.extra_specs, self.hints = {}, {}
        self.image_properties, self.disk_format = {}, 'qcow2'
        self.groups, self.same_subtree, self.root_required = [], [], []
        self.destination, self.held = {}, {}
        self.request = {
            'vcpus': draw.randint(1, 6),
            'memory_mb': draw.randint(1, 12) * 512,
            'root_gb': draw.randint(0, 40),
            'ephemeral_gb': draw.choice([0, 0, 5]),
            'swap': draw.choice([0, 0, 512, 1500])}
        self.uuids = [self.uuid()]
        # Ignore whole kinds, so that different hosts are the best.
        kinds = self.some(rig_world.KINDS)[:draw.choice([0, 0, 3, 6])]
        self.ignored = [host.name for host in world.hosts
                        if host.kind in kinds]

    def uuid(self):
        """A new uuid."""
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def some(self, among, least=1):
        """Some items of a collection, in random order."""
        among = list(among)
        return self.random.sample(
            among, self.random.randint(least, len(among)))

    def host(self, *kinds):
        """A random host, of some kinds if given."""
        return self.random.choice([
            host for host in self.world.hosts
            if not kinds or host.kind in kinds])

    def several(self, count):
        """Request ``count`` instances."""
        self.uuids += [self.uuid() for _ in range(count - len(self.uuids))]

    def group(self, requester_id, resources, required=()):
        """Add a request group; return its requester_id."""
        self.groups.append(objects.RequestGroup(
            use_same_provider=True, resources=resources,
            required_traits=set(required), forbidden_traits=set(),
            aggregates=[], forbidden_aggregates=set(),
            requester_id=requester_id, provider_uuids=[], in_tree=None))
        return requester_id

    def question(self, topic):
        """The Question."""
        destination = self.destination
        if 'cell' in destination:
            destination['cell'] = objects.CellMapping(
                **self.cells[destination['cell']])
        params = objects.RequestLevelParams()
        if self.same_subtree:
            params.same_subtree = self.same_subtree
        if self.root_required:
            params.root_required = set(self.root_required)
        spec = requests.a_request(
            extra_specs=self.extra_specs, hints=self.hints,
            image=requests.an_image(self.image_properties,
                                    disk_format=self.disk_format),
            instance_uuid=self.uuids[0], num_instances=len(self.uuids),
            ignore_hosts=self.ignored or None,
            requested_resources=self.groups, request_level_params=params,
            requested_destination=(requests.a_destination(**destination)
                                   if destination else None),
            **self.request)
        return Question(topic, spec.obj_to_primitive(), self.uuids, self.held)


def questions(world, cells, seed, each):
    """Yield ``each`` Questions a topic, and twice as many mixed Questions."""
    for number in range(each):
        for topic, wishes in TOPICS.items():
            yield _question(f'{seed} {topic} {number}', topic, wishes,
                            world, cells)
        for again in range(2):
            draw = random.Random(f'{seed} {number} {again}')
            taken = draw.sample(_MIXED, draw.randint(2, 4))
            wishes = [wish for name in taken for wish in TOPICS[name]]
            yield _question(f'{seed} mixed {number} {again}',
                            'mixed: ' + ', '.join(taken), wishes,
                            world, cells)


def _question(seed, topic, wishes, world, cells):
    draft = Draft(random.Random(seed), world, cells)
    for wish in wishes:
        wish(draft)
    return draft.question(topic)
