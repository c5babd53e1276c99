"""All that the service would depend on, asked at the same time."""

from nova_sched.preflight.connectivity import check
from nova_sched.preflight.rows import ERROR
from nova_sched.preflight.rows import OK
from nova_sched.preflight.rows import WARNING
from tests.builders import http_placement

BARE = '[DEFAULT]\ntransport_url = fake://\n[database]\nconnection = %s\n'


def test_placement_and_neutron_have_rows_where_placement_is_asked(
        cloud, setup_of):
    with http_placement.placement() as server:
        found = check(setup_of(
            BARE % cloud.url + '[placement]\nauth_type = none\n'
            f'endpoint_override = {server.url}\n'))

    assert server.asked
    assert {'Placement', 'Neutron'} <= {row.check for row in found}


def test_without_placement_its_row_says_what_to_do(cloud, setup_of):
    found = check(setup_of(BARE % cloud.url))

    [row] = [row for row in found if row.check == 'Placement']
    assert row.outcome == WARNING
    assert 'set [placement] auth_type' in row.advice
    assert 'Neutron' not in {row.check for row in found}


def test_what_to_do_names_options_as_the_file_does(setup_of):
    found = check(setup_of('[DEFAULT]\ntransport_url = fake://\n'
                               'sql_connection = sqlite:////no/such/file\n'))

    assert 'Check that it runs, and [DEFAULT] sql_connection' in {
        row.advice for row in found}


def test_what_is_down_costs_its_own_rows_alone(cloud, setup_of):
    found = check(setup_of(
        BARE % cloud.url + '[placement]\nauth_type = none\n'
        'endpoint_override = http://127.0.0.1:1\n'))

    failed = {row.check for row in found if row.outcome == ERROR}
    assert failed == {'Placement'}
    assert {'broker', 'Neutron'} <= {row.check for row in found}


def test_a_driver_that_does_not_ask_placement_needs_none(cloud, setup_of):
    found = check(setup_of(
        '[scheduler]\ndriver = caching_scheduler\n' + BARE % cloud.url
        + '[placement]\nauth_type = none\n'
        'endpoint_override = http://127.0.0.1:1\n'))

    [row] = [row for row in found if row.check == 'Placement']
    assert row.outcome == OK
    assert row.found == 'caching_scheduler does not ask it'
