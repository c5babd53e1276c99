"""Requests bound to a host, in a cloud with cells that come and go."""

import pytest

from nova_sched import exception
from nova_sched import remote
from tests.builders import drivers
from tests.builders import http_placement
from tests.builders.clouds import a_uuid
from tests.builders.mapped_cloud import CELL2
from tests.builders.requests import a_request


@pytest.fixture
def cloud(mapped_cloud):
    """One cell with the hosts a and b, one with c, and cell0."""
    return mapped_cloud


@pytest.fixture
def endpoint(tmp_path):
    """Function: the RPC endpoint of a cloud.

    Its Placement offers all hosts of the databases given.
    """
    with http_placement.placement() as server:
        def endpoint(cloud, *databases):
            server.on('GET', '/allocation_candidates', (
                http_placement.candidates(*(
                    http_placement.a_candidate(uuid)
                    for database in databases for uuid, in database.rows(
                        'SELECT uuid FROM compute_nodes')))))
            return drivers.door(
                cloud.driver(), http_placement.conf_of(server, tmp_path),
                text='full')
        yield endpoint


def ask(endpoint, **request):
    """The name of the picked host."""
    [host] = drivers.hosts_in(drivers.ask(
        endpoint, a_request(**request), [a_uuid()]))
    return host


def test_a_host_of_a_newly_enabled_cell_is_found(cloud, endpoint):
    cloud.change(CELL2, disabled=1)
    made = endpoint(cloud, cloud.one, cloud.two)
    cloud.change(CELL2, disabled=0)

    assert ask(made, force_nodes=['c']) == 'c'


def test_lost_cell_is_named_for_unknown_host(cloud, endpoint, monkeypatch):
    """On record, and in the full text for the caller."""
    monkeypatch.setattr(remote, 'PROBE_INTERVAL', 1000)
    made = endpoint(cloud, cloud.one, cloud.two)
    cloud.two.execute('ALTER TABLE compute_nodes RENAME TO moved')

    with pytest.raises(exception.NoValidHost,
                       match=rf'No such host .*cell {CELL2}\(two\) cannot'):
        ask(made, force_hosts=['c'])

    [record] = made.recorder.decisions
    assert f'cell {CELL2}(two) cannot be read' in record.reason
