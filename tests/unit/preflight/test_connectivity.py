"""The rows about all services; those about Placement and Neutron by HTTP."""

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
    """What cells hold; nodes: (name, uuid)."""
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


def test_a_placement_that_is_well_has_good_rows(tmp_path, placement):
    found = asked(tmp_path, placement)

    assert outcomes(found) == {
        'Placement': OK, 'Placement candidates': OK,
        'Placement providers': OK}
    assert '1.0 to 1.39; queries use 1.36' in found['Placement'].found
    assert 'all 2 compute nodes' in found['Placement providers'].found
    assert {request.method for request in placement.asked} == {'GET'}


def test_nodes_without_a_provider_are_named(tmp_path, placement):
    row = asked(tmp_path, placement, [
        ('n1', 'u1'), ('n3', 'u3'), ('n4', None)])['Placement providers']

    assert row.outcome == WARNING
    assert row.found == ('2 of 3 compute nodes have no resource provider: '
                         'n3, n4')


def test_a_stale_provider_of_a_node_s_name_is_named(tmp_path, placement):
    """Of a node that was made anew, which cannot have one of its own."""
    row = asked(tmp_path, placement, [
        ('u1', 'u1'), ('u2', 'new'), ('n4', 'u4')])['Placement providers']

    assert (row.outcome, row.found) == (
        WARNING, '2 of 3 compute nodes have no resource provider: n4, u2; '
        '1 of them have the name of a provider with another uuid: u2 (u2)')
    assert 'openstack resource provider delete UUID' in row.advice


def test_a_placement_without_providers_has_none_for_any_node(
        tmp_path, placement):
    placement.on('GET', '/resource_providers', providers())
    row = asked(tmp_path, placement)['Placement providers']

    assert row.outcome == WARNING
    assert row.found.startswith('2 of 2 compute nodes have no')


def test_no_candidate_is_told(tmp_path, placement):
    placement.on('GET', '/allocation_candidates',
                 http_placement.candidates())
    found = asked(tmp_path, placement)

    assert outcomes(found) == {
        'Placement': OK, 'Placement candidates': WARNING,
        'Placement providers': OK}


def test_a_placement_of_before_queens_is_refused(tmp_path, placement):
    placement.on('GET', '/', http_placement.versions('1.10'))
    found = asked(tmp_path, placement)

    assert outcomes(found) == {'Placement': ERROR}
    assert '1.0 to 1.10' in found['Placement'].found
    assert 'Upgrade' in found['Placement'].advice


def test_what_the_user_may_not_do_hides_nothing_else(tmp_path, placement):
    placement.on('GET', '/resource_providers',
                 http_placement.error(403, 'Policy does not allow it'))
    found = asked(tmp_path, placement)

    assert outcomes(found) == {
        'Placement': OK, 'Placement candidates': OK,
        'Placement providers': ERROR}
    assert 'Policy does not allow it' in found['Placement providers'].found
    assert 'role' in found['Placement providers'].advice


def test_what_is_not_placement_is_told(tmp_path, placement):
    placement.on('GET', '/', Answer(200, 'It works!'))

    assert 'is not Placement' in asked(tmp_path, placement)[
        'Placement'].found


def test_a_placement_that_hangs_is_given_up(tmp_path, placement):
    placement.on('GET', '/', HANG)
    found = asked(tmp_path, placement, timeout=1)

    assert outcomes(found) == {'Placement': ERROR}
    assert 'does not answer in time' in found['Placement'].found


def test_a_wrong_password_is_told_and_not_shown(tmp_path, placement):
    with http_keystone.keystone() as keystone:
        keystone.on('POST', '/v3/auth/tokens', http_keystone.REFUSED)
        conf = http_placement.a_conf(
            tmp_path, auth_type='password', auth_url=keystone.url,
            **http_keystone.USER)
        row, = connectivity.Placement(conf).rows([])

    assert row.outcome == ERROR
    assert 'credentials do not work' in row.found
    assert http_keystone.PASSWORD not in str(row)


@pytest.mark.parametrize('path', ['/', '/allocation_candidates'])
def test_a_401_is_told_as_one_after_one_more_log_in(tmp_path, placement, path):
    """Where Placement takes no token, though Keystone gives one."""
    placement.on('GET', path, Answer(401, {'error': {
        'code': 401, 'message': 'The request requires authentication.'}}))
    with http_keystone.keystone(http_keystone.an_endpoint(
            placement.url)) as keystone:
        conf = http_placement.a_conf(
            tmp_path, auth_type='password', auth_url=keystone.url,
            **http_keystone.USER)
        found = connectivity.Placement(conf).rows([])

    [row] = [row for row in found if row.outcome == ERROR][:1]
    assert 'It answered 401: ' in row.found
    assert len(placement.to('GET', path)) <= 4
    assert len(keystone.to('POST', '/v3/auth/tokens')) <= 3


def test_neutron_is_left_alone_where_nothing_is_asked_of_it(tmp_path):
    row, = connectivity.Neutron(config.new_conf([], [])).rows()

    assert row.outcome == OK
    assert 'needs no log-in' in row.found


def neutron_row(tmp_path, server, **options):
    conf = http_neutron.a_conf(tmp_path, scheduler=ROUTED, neutron={
        'auth_type': 'admin_token', 'token': 'open-sesame',
        'endpoint': server.url, **options})
    row, = connectivity.Neutron(conf).rows()
    return row


def test_a_neutron_with_segments_is_good(tmp_path, neutron):
    assert neutron_row(tmp_path, neutron).outcome == OK


def test_a_neutron_without_segments_is_told(tmp_path, neutron):
    neutron.on('GET', '/v2.0/extensions', http_neutron.extensions('router'))
    row = neutron_row(tmp_path, neutron)

    assert row.outcome == WARNING
    assert 'segment is missing' in row.found


def test_a_neutron_that_is_down_is_told(tmp_path, neutron):
    row = neutron_row(tmp_path, neutron, endpoint='http://127.0.0.1:1',
                      http_retries=0)

    assert row.outcome == ERROR
    assert '[neutron] endpoint_override' in row.found
    assert 'open-sesame' not in str(row)


def test_a_neutron_without_a_log_in_is_told(tmp_path):
    row, = connectivity.Neutron(http_neutron.a_conf(
        tmp_path, scheduler=ROUTED)).rows()

    assert row.outcome == ERROR
    assert '[neutron] auth_type' in row.found


def test_a_placement_that_is_silent_for_all_of_its_time_is_given_up(
        tmp_path, placement, monkeypatch):
    """A log-in and three requests have theirs: four times [placement]
    timeout.
    """
    class Silent:
        def __init__(self, seconds, function, name):
            self._seconds = seconds

        def result(self):
            raise remote.DeadlineExceeded(
                f'no answer within {self._seconds:g}')
    monkeypatch.setattr(connectivity.remote, 'Call', Silent)
    for timeout, told in ((5, 20), (0, 120)):
        found = asked(tmp_path, placement, timeout=timeout)
        assert outcomes(found) == {'Placement': ERROR}
        assert found['Placement'].found == f'no answer within {told}'


def test_each_question_is_asked_once(tmp_path, placement):
    """Whatever [placement] says of trying again."""
    placement.on('GET', '/resource_providers',
                 http_placement.error(503, 'later'))
    asked(tmp_path, placement, status_code_retries=3,
          status_code_retry_delay=0.01)

    assert len(placement.to('GET', '/resource_providers')) == 1
    assert [request.path for request in placement.to(
        'GET', '/allocation_candidates')] == [
        '/allocation_candidates?limit=1&resources=VCPU:1']


def test_placement_and_neutron_have_rows_where_placement_is_asked(
        cloud, setup_of):
    with http_placement.placement() as server:
        found = connectivity.check(setup_of(
            BARE % cloud.url + '[placement]\nauth_type = none\n'
            f'endpoint_override = {server.url}\n'))

    assert server.asked
    assert {'Placement', 'Neutron'} <= {row.check for row in found}


def test_without_placement_its_row_says_what_to_do(cloud, setup_of):
    found = connectivity.check(setup_of(BARE % cloud.url))

    [row] = [row for row in found if row.check == 'Placement']
    assert row.outcome == WARNING
    assert 'set [placement] auth_type' in row.advice
    assert 'Neutron' not in {row.check for row in found}


def test_what_to_do_names_options_as_the_file_does(setup_of):
    found = connectivity.check(setup_of('[DEFAULT]\ntransport_url = fake://\n'
                                        'sql_connection = sqlite:////no/such/file\n'))

    assert ('Check its path and permissions, and [DEFAULT] sql_connection'
            in {row.advice for row in found})


def test_what_is_down_costs_its_own_rows_alone(cloud, setup_of):
    found = connectivity.check(setup_of(
        BARE % cloud.url + '[placement]\nauth_type = none\n'
        'endpoint_override = http://127.0.0.1:1\n'))

    failed = {row.check for row in found if row.outcome == ERROR}
    assert failed == {'Placement'}
    assert {'broker', 'Neutron'} <= {row.check for row in found}


def test_a_driver_that_does_not_ask_placement_needs_none(cloud, setup_of):
    found = connectivity.check(setup_of(
        '[scheduler]\ndriver = caching_scheduler\n' + BARE % cloud.url
        + '[placement]\nauth_type = none\n'
        'endpoint_override = http://127.0.0.1:1\n'))

    [row] = [row for row in found if row.check == 'Placement']
    assert row.outcome == OK
    assert row.found == 'caching_scheduler does not use it'
