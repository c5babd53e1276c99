"""The request context survives the wire, of any release, without leaks."""

import datetime
import logging
import timeit

from oslo_context import context as oslo_context
import pytest

from nova_sched import context
from tests.unit.objects import captures

NAMES = captures.names_where(lambda m: True)
KILO = {
    'user': 'u', 'tenant': 't', 'user_id': 'u', 'project_id': 't',
    'user_name': 'demo', 'project_name': 'demo', 'is_admin': False,
    'roles': ['member'], 'auth_token': 'secret', 'request_id': 'req-1',
    'read_deleted': 'no', 'remote_address': '198.51.100.7',
    'quota_class': None, 'service_catalog': [],
    'timestamp': '2015-05-01T10:00:00.000000', 'instance_lock_checked': True,
    'user_identity': 'u t - - -', 'show_deleted': False, 'read_only': False,
    'resource_uuid': None, 'domain': None, 'user_domain': None,
    'project_domain': None}


def sent(name):
    """The context of a captured message."""
    return {key.removeprefix('_context_'): value
            for key, value in captures.message(name).items()
            if key.startswith('_context_')}


@pytest.mark.parametrize('values', [
    pytest.param(KILO, id='kilo'),
    *[pytest.param(sent(name), id=name) for name in NAMES]])
def test_what_was_sent_is_sent_on(values):
    """Every key comes out with the value it came in with."""
    made = context.RequestContext.from_dict(values)

    written = made.to_dict()

    assert {key: written.get(key) for key in values} == values


@pytest.mark.parametrize('values, user, project', [
    ({'user_id': 'u', 'project_id': 'p'}, 'u', 'p'),
    ({'user': 'u', 'project': 'p'}, 'u', 'p'),
    ({'user': 'u', 'tenant': 'p'}, 'u', 'p'),
    ({'user_id': 'u', 'user': 'x', 'project_id': 'p', 'tenant': 'x'},
     'u', 'p'),
    ({}, None, None)])
def test_ids_have_several_names(values, user, project):
    """user_id or user; project_id, project or tenant."""
    made = context.RequestContext.from_dict(values)

    assert (made.user_id, made.project_id) == (user, project)


@pytest.mark.parametrize('values', [
    None, {}, {'roles': None}, {'roles': 'admin'}, {'timestamp': 'soon'},
    {'timestamp': 5}, {'trace_info': {}}, {'anything': [1]}])
def test_odd_contexts_are_read(values):
    """Nothing missing, unknown or odd is an error."""
    made = context.RequestContext.from_dict(values)

    assert made.roles == []
    assert made.request_id.startswith('req-')
    assert made.to_dict()['timestamp']


def test_trace_info_is_not_passed_on():
    """It belongs to one hop of the profiler."""
    made = context.RequestContext.from_dict({'trace_info': {'a': 1}})

    assert 'trace_info' not in made.to_dict()


def test_elevation_is_a_copy_with_admin_rights():
    """The original keeps its own."""
    made = context.RequestContext.from_dict(KILO)

    admin = made.elevated(read_deleted='yes')

    assert admin.is_admin and admin.roles == ['member', 'admin']
    assert admin.read_deleted == 'yes'
    assert admin.request_id == made.request_id
    assert not made.is_admin and made.roles == ['member']
    assert admin.elevated().roles == ['member', 'admin']


def test_the_global_request_id_is_kept():
    """It goes to other services."""
    made = context.RequestContext.from_dict({'global_request_id': 'req-9'})

    assert made.global_id == made.global_request_id == 'req-9'


def test_the_token_is_never_shown():
    """Neither as text nor in what a log line takes from the context."""
    made = context.RequestContext.from_dict(
        {**KILO, 'new_key': 'secret', 'service_catalog': ['secret']})

    logged = made.get_logging_values()

    assert 'secret' not in f'{made} {made!r} {logged}'
    assert logged['request_id'] == 'req-1'
    assert 'req-1' in repr(made)


def test_log_lines_of_the_thread_belong_to_the_request():
    """A context from the wire becomes the thread's current one."""
    made = context.RequestContext.from_dict(KILO)

    assert oslo_context.get_current() is made


def test_the_service_s_own_context_leaves_the_thread_s_alone():
    """Background work does not take over a request's log lines."""
    made = context.RequestContext.from_dict(KILO)

    admin = context.get_admin_context()

    assert admin.is_admin
    assert oslo_context.get_current() is made


def test_a_context_of_nobody_is_no_administrator_s():
    made = context.RequestContext.from_dict(KILO)

    nobody = context.get_context()

    assert (nobody.is_admin, nobody.user_id, nobody.project_id) == (
        False, None, None)
    assert nobody.elevated().is_admin
    assert oslo_context.get_current() is made


def test_making_one_is_cheap():
    """Well below a millisecond: there is one per request."""
    values = sent('34-simple-flavor')

    best = min(timeit.repeat(
        lambda: context.RequestContext.from_dict(values),
        number=200, repeat=5)) / 200

    logging.getLogger(__name__).info('context: %.1f us', best * 1e6)
    assert best < 0.0005


def test_what_a_thread_works_for_can_be_forgotten():
    context.RequestContext()
    assert oslo_context.get_current() is not None
    for _ in range(2):
        context.forget()
        assert oslo_context.get_current() is None


@pytest.mark.parametrize('text', [
    '2015-05-01T10:00:00.250000', '2015-05-01T12:00:00.25+02:00',
    '2015-05-01T10:00:00.25Z'])
def test_the_time_of_a_request_is_utc_without_a_zone(text):
    made = context.RequestContext.from_dict({'timestamp': text})

    assert made.timestamp == datetime.datetime(
        2015, 5, 1, 10, 0, 0, 250000)
    assert made.to_dict()['timestamp'] == '2015-05-01T10:00:00.250000'
    assert made.get_logging_values()['timestamp'] == (
        '2015-05-01 10:00:00.250000')


@pytest.mark.parametrize('text', [
    'soon', 5, None, '0001-01-01T00:00:00+23:00'])
def test_a_request_without_a_time_is_of_now(text):
    before = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    made = context.RequestContext.from_dict({'timestamp': text})

    assert before <= made.timestamp <= datetime.datetime.now(
        datetime.UTC).replace(tzinfo=None)


def test_a_context_that_says_nothing_has_no_rights():
    made = context.RequestContext.from_dict({})

    assert (made.is_admin, made.read_only, made.show_deleted) == (
        False, False, False)
    assert made.is_admin_project is True
    assert made.read_deleted == 'no'
    assert made.service_catalog == []


def test_what_its_maker_says_wins_over_what_was_sent():
    made = context.RequestContext.from_dict(
        {'user_id': 'u', 'is_admin': True}, user_id='other')

    assert (made.user_id, made.is_admin) == ('other', True)


def test_the_service_s_own_context_is_of_no_user():
    admin = context.get_admin_context()

    assert (admin.user_id, admin.roles) == (None, ['admin'])


def test_elevation_leaves_what_is_deleted_as_it_was():
    made = context.RequestContext.from_dict({'read_deleted': 'only'})

    assert made.elevated().read_deleted == 'only'
