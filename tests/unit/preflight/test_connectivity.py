"""Rows about all services, and about Placement and Neutron over HTTP."""

import pytest

from nova_sched import conf as config
from nova_sched import remote
from nova_sched.preflight import connectivity
from nova_sched.preflight import databases
from nova_sched.preflight.rows import ERROR
from nova_sched.preflight.rows import OK
from nova_sched.preflight.rows import WARNING
from tests.builders import http_keystone
from tests.builders import http_neutron
from tests.builders import http_placement
from tests.builders.http_server import HANG
from tests.builders.http_server import Answer

BARE = '[DEFAULT]\ntransport_url = fake://\n[database]\nconnection = %s\n'
ROUTED = {'query_placement_for_routed_network_aggregates': 'true'}


@pytest.fixture
def placement():
    with http_placement.placement() as server:
        server.on('GET', '/allocation_candidates', http_placement.candidates(
            http_placement.a_candidate('u1')))
        server.on('GET', '/resource_providers', providers('u1', 'u2'))
        yield server


@pytest.fixture
def neutron():
    with http_neutron.neutron() as server:
        yield server


def providers(*uuids):
    return Answer(body={'resource_providers': [
        {'uuid': uuid, 'name': uuid, 'generation': 1} for uuid in uuids]})


def computes(*nodes):
    """The compute hosts of cells; nodes: (name, uuid)."""
    return [databases.Computes('', list(nodes), frozenset(), {}, 74)]


def asked(tmp_path, server, nodes=(('n1', 'u1'), ('n2', 'u2')), **options):
    """The rows of a Placement: dict check -> Row."""
    conf = http_placement.a_conf(tmp_path, **{
        'auth_type': 'admin_token', 'token': 'open-sesame',
        'endpoint': server.url, **options})
    return {row.check: row for row in connectivity.Placement(conf).rows(
        computes(*nodes))}


def outcomes(found):
    return {check: row.outcome for check, row in found.items()}


def test_a_working_placement_has_good_rows(tmp_path, placement):
    found = asked(tmp_path, placement)

    assert outcomes(found) == {
        'Placement': OK, 'Placement candidates': OK,
        'Placement providers': OK}
    assert '1.0 to 1.39; queries use 1.36' in found['Placement'].found
    assert 'all 2 compute nodes' in found['Placement providers'].found
    assert {request.method for request in placement.asked} == {'GET'}


@pytest.mark.parametrize(('nodes', 'words', 'advice'), [
    ([('n1', 'u1'), ('n3', 'u3'), ('n4', None)],
     '2 of 3 compute nodes have no resource provider: n3, n4',
     'See the log of nova-compute there'),
    ([('u1', 'u1'), ('u2', 'new'), ('n4', 'u4')],
     '2 of 3 compute nodes have no resource provider: n4, u2; 1 of them have '
     'the name of a provider with another uuid: u2 (u2)',
     'openstack resource provider delete UUID')])
def test_nodes_without_a_provider_are_named(
        tmp_path, placement, nodes, words, advice):
    row = asked(tmp_path, placement, nodes)['Placement providers']

    assert (row.outcome, row.found) == (WARNING, words)
    assert advice in row.advice


@pytest.mark.parametrize(('path', 'answer', 'outcome', 'check', 'words'), [
    ('/', http_placement.versions('1.10'), ERROR, 'Placement',
     '1.0 to 1.10; this service needs 1.17 at least'),
    ('/', Answer(200, 'It works!'), ERROR, 'Placement', 'is not Placement'),
    ('/', HANG, ERROR, 'Placement', 'does not respond in time'),
    ('/allocation_candidates', http_placement.candidates(), WARNING,
     'Placement candidates', 'there is none for one VCPU'),
    ('/resource_providers', http_placement.error(
        403, 'Policy does not allow it'), ERROR, 'Placement providers',
     'Policy does not allow it')])
def test_a_failure_of_placement_has_a_row_and_hides_no_other(
        tmp_path, placement, path, answer, outcome, check, words):
    placement.on('GET', path, answer)
    found = asked(tmp_path, placement, timeout=1)

    expected = {'Placement': OK, 'Placement candidates': OK,
                'Placement providers': OK} if path != '/' else {}
    assert outcomes(found) == expected | {check: outcome}
    assert words in found[check].found
    assert found[check].advice


def test_a_refused_log_in_is_reported_without_the_password(
        tmp_path, placement):
    with http_keystone.keystone() as keystone:
        keystone.on('POST', '/v3/auth/tokens', http_keystone.REFUSED)
        conf = http_placement.a_conf(
            tmp_path, auth_type='password', auth_url=keystone.url,
            **http_keystone.USER)
        row, = connectivity.Placement(conf).rows([])

    assert row.outcome == ERROR
    assert 'credentials do not work' in row.found
    assert http_keystone.PASSWORD not in str(row)


def test_neutron_is_not_queried_without_the_request_filter(tmp_path):
    row, = connectivity.Neutron(config.new_conf([], [])).rows()

    assert row.outcome == OK
    assert 'needs no log-in' in row.found


def neutron_row(tmp_path, server, **options):
    conf = http_neutron.a_conf(tmp_path, scheduler=ROUTED, neutron={
        'auth_type': 'admin_token', 'token': 'open-sesame',
        'endpoint': server.url, **options})
    row, = connectivity.Neutron(conf).rows()
    return row


def test_neutron_is_checked_for_segments(tmp_path, neutron):
    assert neutron_row(tmp_path, neutron).outcome == OK

    neutron.on('GET', '/v2.0/extensions', http_neutron.extensions('router'))
    row = neutron_row(tmp_path, neutron)

    assert row.outcome == WARNING
    assert 'segment is missing' in row.found


def test_an_unreachable_neutron_or_a_missing_log_in_is_an_error(
        tmp_path, neutron):
    row = neutron_row(tmp_path, neutron, endpoint='http://127.0.0.1:1',
                      http_retries=0)
    assert row.outcome == ERROR
    assert '[neutron] endpoint_override' in row.found
    assert 'open-sesame' not in str(row)

    row, = connectivity.Neutron(http_neutron.a_conf(
        tmp_path, scheduler=ROUTED)).rows()
    assert row.outcome == ERROR
    assert '[neutron] auth_type' in row.found


def test_the_check_of_placement_takes_at_most_four_timeouts(
        tmp_path, placement, monkeypatch):
    """A timeout for the log-in and for each of three queries."""
    class Silent:
        def __init__(self, seconds, function, name):
            self._seconds = seconds

        def result(self):
            raise remote.DeadlineExceeded(
                f'no answer within {self._seconds:g}')
    monkeypatch.setattr(connectivity.remote, 'Call', Silent)
    for timeout, seconds in ((5, 20), (0, 120)):
        found = asked(tmp_path, placement, timeout=timeout)
        assert outcomes(found) == {'Placement': ERROR}
        assert found['Placement'].found == f'no answer within {seconds}'


def test_queries_are_not_retried(tmp_path, placement):
    placement.on('GET', '/resource_providers',
                 http_placement.error(503, 'later'))
    asked(tmp_path, placement, status_code_retries=3,
          status_code_retry_delay=0.01)

    assert len(placement.to('GET', '/resource_providers')) == 1
    assert [request.path for request in placement.to(
        'GET', '/allocation_candidates')] == [
        '/allocation_candidates?limit=1&resources=VCPU:1']


def test_without_placement_its_row_has_advice(cloud, setup_of):
    found = connectivity.check(setup_of(BARE % cloud.url))

    [row] = [row for row in found if row.check == 'Placement']
    assert row.outcome == WARNING
    assert 'set [placement] auth_type' in row.advice
    assert 'Neutron' not in {row.check for row in found}


def test_advice_names_options_as_the_file_does(setup_of):
    found = connectivity.check(setup_of('[DEFAULT]\ntransport_url = fake://\n'
                                        'sql_connection = sqlite:////no/such/file\n'))

    assert ('Check its path and permissions, and [DEFAULT] sql_connection'
            in {row.advice for row in found})


def test_a_driver_that_does_not_use_placement_needs_none(cloud, setup_of):
    found = connectivity.check(setup_of(
        '[scheduler]\ndriver = caching_scheduler\n' + BARE % cloud.url
        + '[placement]\nauth_type = none\n'
        'endpoint_override = http://127.0.0.1:1\n'))

    [row] = [row for row in found if row.check == 'Placement']
    assert row.outcome == OK
    assert row.found == 'caching_scheduler does not use it'
