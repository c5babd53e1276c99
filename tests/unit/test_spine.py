"""A request passes the same few files, and its calls go down the floors only.

Read from what runs: the imports (``test_floors``) do not show what is handed
down as a function and called there.
"""

import re

import pytest

from nova_sched import context
from nova_sched.objects import Destination
from tests.builders import http_placement
from tests.builders import http_providers
from tests.builders import requests
from tests.builders import tracing
from tests.builders.clouds import a_uuid
from tests.builders.drivers import door
from tests.builders.waiting import until
from tests.unit.test_floors import floor

#: The files that a request of the filter driver passes, whoever's plug-ins
#: are enabled.
SPINE = {f'nova_sched.{name}' for name in (
    'scheduler.filter_scheduler', 'scheduler.driver', 'scheduler.attempt',
    'scheduler.claims', 'scheduler.selections', 'scheduler.host_manager',
    'scheduler.ranking', 'filters', 'weights', 'hosts.snapshot',
    'hosts.block')}

#: What lets foreign drivers, host managers and rules in.
EDGE = re.compile(r'nova_sched\.(plugins|objects\.legacy)\.')

#: Calls up the floors: (caller, callee) -> why.
EXCEPTIONS = {
    (r'.*', r'.*:__create_fn__\.<locals>\.__hash__'):
        'a key of a dict is hashed',
    (r'single_flight:.*', r'inventory\.cache:HostCache\._read'):
        'one of the threads that wait reads for all of them',
    (r'db\.reader:.*', r'inventory\.cache:HostCache\._read_cells\..*'):
        'each cell is asked in a thread of its own where its database may '
        'hang; the reader maps a function over them',
    (r'hosts\.(block|labels):.*', r'(scheduler\.(filters|weights)|rules)\..*'):
        'a rule judges each distinct value of a column once; the column maps '
        'a function of the value over them',
}


@pytest.fixture
def hosts(cloud):
    """A cloud of the hosts host1 to host3."""
    cloud.load(3)
    return cloud


@pytest.fixture
def server():
    """A Placement that offers the first two hosts."""
    with http_placement.placement() as server:
        http_placement.remembering(server)
        yield server


@pytest.fixture
def trace(hosts, server, tmp_path, monkeypatch):
    """Function: the Calls of a driver's second request, of any kind.

    placement: where candidates are from, if there is one: list or mirror.
    """
    def trace(driver, placement=None, **request):
        conf = None
        if placement:
            conf = http_placement.a_conf(
                tmp_path, auth_type='none', endpoint_override=server.url)
            conf.set_override('candidates', placement, 'nova_sched')
            offer(server, [row[0] for row in hosts.rows(
                'SELECT uuid FROM compute_nodes')])
        endpoint = door(driver, conf=conf)
        endpoint.candidate_source.start()
        mirror = endpoint.candidate_source._mirror
        until(lambda: mirror is None or mirror.age is not None,
              'a complete mirror of Placement')
        ask(endpoint, **request)
        calls = tracing.recorded(endpoint.driver, monkeypatch)
        ask(endpoint, **request)
        endpoint.candidate_source.stop()
        return calls
    return trace


def offer(server, uuids):
    """Have a Placement list these hosts, and know them as providers."""
    providers = http_providers.Providers(server)
    for uuid in uuids:
        providers.add(uuid, traits=['OWNER_NOVA'], others={
            'MEMORY_MB': 10 ** 6, 'DISK_GB': 10 ** 6})
    http_placement.remembering(server)
    server.on('GET', '/allocation_candidates?limit', http_placement.candidates(
        *map(http_placement.a_candidate, uuids)))


def ask(endpoint, **request):
    endpoint.select_destinations(
        context.RequestContext(user_id='u'),
        spec_obj=requests.a_request(**request).obj_to_primitive(),
        instance_uuids=[a_uuid()], return_objects=True,
        return_alternates=True)


#: A plain request, and one with all that has instances looked up.
REQUESTS = {
    'plain': {},
    'group and hints': {
        'group': {'uuid': a_uuid(7), 'policy': 'anti-affinity',
                  'members': [a_uuid(8)]},
        'hints': {'different_host': [a_uuid(9)]},
        'requested_destination': Destination(),
    },
}
WAYS = [('filter_scheduler', None), ('filter_scheduler', 'list'),
        ('filter_scheduler', 'mirror'), ('caching_scheduler', None),
        ('chance_scheduler', None)]


def _is_excepted(caller, callee):
    texts = [':'.join(each).removeprefix('nova_sched.')
             for each in (caller, callee)]
    return any(re.fullmatch(one, texts[0]) and re.fullmatch(other, texts[1])
               for one, other in EXCEPTIONS)


@pytest.mark.parametrize('request_', REQUESTS.values(), ids=REQUESTS)
@pytest.mark.parametrize(('name', 'placement'), WAYS)
def test_calls_go_down_the_floors_only(trace, hosts, name, placement,
                                       request_):
    calls = trace(hosts.driver(name), placement, **request_)

    assert calls.made
    assert not {(caller, callee) for caller, callee in calls.made
                if caller and floor(caller[0]) < floor(callee[0])
                and not _is_excepted(caller, callee)}


@pytest.mark.parametrize(('name', 'placement'), WAYS)
def test_a_plain_request_does_not_know_the_edge(trace, hosts, name, placement):
    calls = trace(hosts.driver(name), placement)

    assert not {name for name in calls.modules if EDGE.match(f'{name}.')}


@pytest.mark.parametrize('placement', [None, 'list', 'mirror'])
def test_a_request_passes_the_spine(trace, hosts, placement):
    assert trace(hosts.driver(), placement).modules >= SPINE
