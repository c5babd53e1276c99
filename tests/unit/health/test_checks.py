"""What checks come to, by Nova's specification of health checks."""

import pytest

from nova_sched.health import checks
from nova_sched.health.checks import Check

NOW, TTL = 1_000_000.0, 300
#: When something was noted: just now, and so long ago that it is out of date.
FRESH, OLD = NOW - 1, NOW - TTL - 1


def passing(at=FRESH):
    return Check('pass', at)


def warning(at=FRESH):
    return Check('warn', at, 'it is slow')


def failing(at=FRESH):
    return Check('fail', at, 'it is away')


class TestStatus:
    @pytest.mark.parametrize('found, status', [
        ([], 'pass'),
        ([passing(), passing()], 'pass'),
        ([passing(), warning()], 'warn'),
        ([passing(), warning(), failing()], 'fail'),
        ([passing(), passing(OLD)], 'warn'),
        ([passing(), failing(OLD)], 'fail'),
        ([passing(OLD), passing(OLD)], 'fail'),
        ([passing(OLD)], 'fail')])
    def test_is_that_of_the_worst_and_fails_if_all_are_out_of_date(
            self, found, status):
        assert checks.status(found, NOW, TTL) == status

    @pytest.mark.parametrize('found', [
        [passing(OLD)], [passing(0), passing(OLD)]])
    def test_counts_what_is_old_for_ever_with_a_ttl_of_nought(self, found):
        assert checks.status(found, NOW, ttl=0) == 'pass'

    def test_counts_what_is_as_old_as_the_ttl(self):
        assert checks.status([passing(NOW - TTL)], NOW, TTL) == 'pass'


def test_of_the_same_check_of_several_workers_the_worst_is_told():
    assert checks.worst([passing(), failing(OLD), warning()]) == failing(OLD)


def test_of_equal_ones_that_is_told_which_was_noted_last():
    assert checks.worst([passing(1), passing(3), passing(2)]) == passing(3)


class TestDocuments:
    def test_say_what_the_specification_lists(self):
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

    def test_name_no_record_that_is_not_known(self):
        assert 'serviceId' not in checks.document({}, NOW, TTL, 'sched-1')

    def test_warn_of_what_is_out_of_date_with_the_time_it_was_noted(self):
        told = checks.document({'api_db': passing(0)}, NOW, TTL, 'sched-1')
        assert told['checks']['api_db'] == {
            'status': 'warn', 'time': '1970-01-01T00:00:00+00:00',
            'output': 'it was not checked for 1000000 seconds'}

    def test_cut_a_text_that_has_no_end(self):
        told = checks.document({'x': Check('fail', FRESH, 'x' * 10_000)},
                               NOW, TTL, 'sched-1')
        assert len(told['checks']['x']['output']) == checks.LONGEST


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
def test_answers_say_how_long_they_may_be_kept(status, ttl, option, header):
    assert checks.cache_control(status, ttl, option) == header
