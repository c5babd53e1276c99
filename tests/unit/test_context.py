"""The request context survives the wire, of any release, without leaks."""

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
