"""Checks and the health document, by Nova's specification."""

import pytest

from nova_sched.health import checks
from nova_sched.health.checks import Check

NOW, TTL = 1_000_000.0, 300
#: Times of a current result, and of an outdated one.
FRESH, OLD = NOW - 1, NOW - TTL - 1


def passing(at=FRESH):
    return Check('pass', at)


def warning(at=FRESH):
    return Check('warn', at, 'it is slow')


def failing(at=FRESH):
    return Check('fail', at, 'it is away')


@pytest.mark.parametrize('results, ttl, status', [
    ([], TTL, 'pass'),
    ([passing(), passing()], TTL, 'pass'),
    ([passing(), warning()], TTL, 'warn'),
    ([passing(), warning(), failing()], TTL, 'fail'),
    ([passing(), passing(OLD)], TTL, 'warn'),
    ([passing(), failing(OLD)], TTL, 'fail'),
    ([passing(OLD), passing(OLD)], TTL, 'fail'),
    ([passing(OLD)], TTL, 'fail'),
    ([passing(NOW - TTL)], TTL, 'pass'),
    ([passing(0), passing(OLD)], 0, 'pass')])
def test_status_is_worst_and_fails_if_all_are_outdated(results, ttl, status):
    assert checks.status(results, NOW, ttl) == status


@pytest.mark.parametrize('results, worst', [
    ([passing(), failing(OLD), warning()], failing(OLD)),
    ([passing(1), passing(3), passing(2)], passing(3))])
def test_worst_check_is_the_last_of_equals(results, worst):
    assert checks.worst(results) == worst


class TestDocument:
    def test_has_the_fields_of_the_specification(self):
        assert checks.document(
            {'message_bus': failing(0.7), 'api_db': passing(1)},
            now=2, ttl=TTL, host='sched-1', service_id='some-uuid') == {
                'status': 'fail', 'version': '1.0',
                'serviceId': 'some-uuid', 'description': 'nova-scheduler',
                'notes': {'host': 'sched-1'},
                'checks': {
                    'api_db': {'status': 'pass',
                               'time': '1970-01-01T00:00:01+00:00'},
                    'message_bus': {'status': 'fail',
                                    'time': '1970-01-01T00:00:00+00:00',
                                    'output': 'it is away'}}}

    def test_warns_of_outdated_checks_and_omits_an_unknown_record(self):
        document = checks.document({'api_db': passing(0)}, NOW, TTL, 'sched-1')
        assert 'serviceId' not in document
        assert document['checks']['api_db'] == {
            'status': 'warn', 'time': '1970-01-01T00:00:00+00:00',
            'output': 'it was not checked for 1000000 seconds'}

    def test_truncates_a_long_text(self):
        document = checks.document({'x': Check('fail', FRESH, 'x' * 10_000)},
                                   NOW, TTL, 'sched-1')
        assert len(document['checks']['x']['output']) == checks.LONGEST


@pytest.mark.parametrize('status, ttl, option, header', [
    ('pass', 300, None, 'max-age=300'),
    ('warn', 300, None, 'max-age=300'),
    ('fail', 300, None, 'no-cache'),
    ('pass', 300, 10, 'max-age=10'),
    ('fail', 300, 10, 'no-cache'),
    ('pass', 300, -1, 'no-cache'),
    ('pass', 300, 0, None),
    ('fail', 300, 0, None),
    ('pass', 0, None, None)])
def test_cache_control_follows_the_option(status, ttl, option, header):
    assert checks.cache_control(status, ttl, option) == header
