"""JsonFilter."""

import json

import pytest

from nova_sched import exception
from nova_sched.scheduler.filters.json_filter import JsonFilter
from tests.builders.hosts import NEVER_REPORTED
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request

HOST = a_host('h', free_ram_mb=2048, vcpus_used=2, hypervisor_type='QEMU',
              host_ip=None, cpu_info='{"vendor": "Intel"}',
              stats={'rack': 'r1', 'empty': None, 'nested': {'a': 1}})


def mask(query, *records):
    """What a query, or its text, leaves of hosts."""
    text = query if isinstance(query, str) else json.dumps(query)
    return JsonFilter().mask(hosts(*records or (HOST,)), a_request(
        hints={'query': [text]})).tolist()


CASES = [
    # Comparisons are with every other argument.
    (['=', '$free_ram_mb', 2048], True),
    (['=', '$free_ram_mb', 2047], False),
    (['>=', '$free_ram_mb', 2048], True),
    (['>', '$free_ram_mb', 2048], False),
    (['<', 1024, '$free_ram_mb'], True),
    (['<=', '$free_ram_mb', 2048, 4096], True),
    (['<=', '$free_ram_mb', 4096, 1024], False),
    (['=', '$free_ram_mb', 2048.0], True),
    (['>', '$free_ram_mb', 2047.5], True),
    (['=', '$free_ram_mb', '2048'], False),
    (['<', '$vcpus_used', '$free_ram_mb'], True),
    (['=', '$hypervisor_hostname', 'h'], True),
    (['<', 'a', '$host', 'z'], True),
    (['=', 1, True], True),
    (['<', '$free_ram_mb', 2 ** 70], True),
    # Fewer than two arguments are no comparison.
    (['=', 1], False), (['<'], False), (['in', '$host'], False),
    # Among the others, which are no list of their own.
    (['in', '$host', 'g', 'h'], True),
    (['in', '$host', 'g', 'i'], False),
    (['in', '$free_ram_mb', 1, 2048], True),
    (['in', '$free_ram_mb', 1, 2], False),
    (['in', 'h', '$host', 1], True),
    # Equal are values, not their types; NaN is equal to nothing.
    (['in', '$free_ram_mb', 'x', {}, None, 2048.0], True),
    (['in', True, 'x', 1.0], True), (['in', 1, '1', {}], False),
    (['=', '$vcpus_used', 2, 2.0], True), (['=', 1, True, 1.0], True),
    (['=', '$vcpus_used', 2, True], False),
    (['in', '$stats.nested', {'b': 1}, 1, {'a': 1}], True),
    (['in', '$stats.nested', {'b': 1}, {'a': 2}], False),
    (['=', '$stats.nested', {'a': 1}, {'a': True}], True),
    (['=', '$stats.nested', {'a': 1}, {'a': 2}], False),
    (['=', '$vcpus_used', float('nan')], False),
    (['<', '$vcpus_used', 9, float('nan')], False),
    (['in', '$vcpus_used', float('nan'), 2], True),
    (['<', '$free_ram_mb', 10 ** 4000, 9000], True),
    ('["<", "$free_ram_mb", 1e309]', True),
    (['=', '$host', '\ud800'], False), (['in', '\ud800', 'x', '\ud800'], True),
    # All of many are compared, whichever decides.
    (['<', '$free_ram_mb', *range(3000, 2048, -1)], True),
    (['<', '$free_ram_mb', *range(3000, 2047, -1)], False),
    (['>=', '$host', *'abcdefgh'], True), (['>=', '$host', *'hijk'], False),
    (['>', 9, '$vcpus_used', 8, '$vcpus_used', 7], True),
    (['>', 8, '$vcpus_used', 8, '$vcpus_used', 7], False),
    # Combinations.
    (['and', ['=', '$host', 'h'], ['<', '$vcpus_used', 3]], True),
    (['and', ['=', '$host', 'h'], ['<', '$vcpus_used', 2]], False),
    (['or', ['=', '$host', 'x'], ['<', '$vcpus_used', 3]], True),
    (['and'], True), (['or'], False),
    (['and', 1, 'x'], True), (['or', 0, ''], False), (['or', {}], False),
    (['and', '$vcpus_used', '$host'], True),
    # At the top, "not" passes when any of its arguments is false ...
    (['not', ['=', '$host', 'h']], False),
    (['not', ['=', '$host', 'x']], True),
    (['not', True, False], True), (['not', True, True], False),
    (['not'], False), (['not', '$nothing'], False),
    # ... and further down it is true if it has any.
    (['and', ['not', True]], True),
    (['not', ['not', False]], False),
    (['and', ['not']], False),
    (['and', ['not', '$nothing']], False),
    (['=', ['not', True], ['not', 1]], True),
    (['<', ['not', True], ['not', 0]], True),
    (['in', ['not', 1, '$nothing'], 1, ['not'], ['not', 2]], True),
    (['in', ['not', 1], ['not', 0], 'x'], False),
    (['=', ['not'], ['not', '$stats.missing'], ['not', None]], True),
    # What is false is true as a query.
    ([], True), ({}, True), ('""', True), ('0', True), ('null', True),
    (['and', []], True),
    # A variable that there is not, null and empty text are left out.
    (['=', '$nothing', 2, 2], True),
    (['=', '$nothing', 2], False),
    (['=', '$host_ip', 2, 2], True),
    (['=', None, 2, '', 2], True),
    (['=', '$service_up', 2, 2], True),
    (['=', '$', 2, 2], True),
    (['and', '$nothing'], True), (['or', '$nothing'], False),
    # Names may lead into mappings.
    (['=', '$stats.rack', 'r1'], True),
    (['=', '$stats.rack', 'r2'], False),
    (['=', '$stats.nested.a', 1], True),
    (['=', '$stats.empty', 2, 2], True),
    (['=', '$stats.empty.x', 2, 2], True),
    (['=', '$stats.missing', 2, 2], True),
    (['=', '$stats.nested', {'a': 1}], True),
    (['=', '$service.topic', 'compute'], True),
    (['=', '$service.missing', 2, 2], True),
    # The first character of text is an operator, the others are arguments.
    ('"=aa"', True), ('"=ab"', False),
]


@pytest.mark.parametrize(('query', 'passes'), CASES)
def test_a_host_meets_the_query(query, passes):
    assert mask(query) == [passes]


@pytest.mark.parametrize(('query', 'passes'), [
    (['=', '$host_ip', '192.0.2.1'], False),
    (['in', '$host_ip', '192.0.2.1'], False),
    (['not', ['=', '$host_ip', '192.0.2.1']], True),
    (['and', '$host_ip'], True), (['=', '$host_ip', '$host_ip'], True)])
def test_an_address_is_no_text(query, passes):
    assert mask(query, a_host(host_ip='192.0.2.1')) == [passes]


@pytest.mark.parametrize(('query', 'words'), [
    ('not json', 'must be JSON: Expecting value'), ('[', 'must be JSON'),
    ('1' * 5000, 'must be JSON: Exceeds the limit'),
    (['bogus', 1, 2], "an unknown operator, 'bogus'"),
    (['\ud800', 1, 2], 'an unknown operator'),
    ([None], 'operator, None'), ([1, 2], 'operator, 1'),
    ([[], 1], 'unknown operator'), ([{}, 1], 'unknown operator'),
    (['and', ['bogus']], "'bogus'"), (['or', True, ['bogus']], "'bogus'"),
    ('"text"', "'t'"), ({'a': 1}, 'must be a list'),
    ('1', 'must be a list'), ('true', 'must be a list'),
    (['<', '$free_ram_mb', '1'], 'order: a number < a text'),
    (['<', '$host', 1], 'a text < a number'),
    (['<', 1, 0, 'x'], 'a number < a text'),
    (['<', '$stats', 1], 'an object < a number'),
    (['<', ['not', 1], 1], 'a list < a number'),
    (['=', '$free_ram_mb.x', 1], "reads 'x' of a value that is not a mapping"),
    (['=', '$cpu_info.vendor', 'Intel'], "reads 'vendor'"),
    (['=', '$stats.rack.x', 1], "reads 'x'"),
])
def test_a_query_without_sense_fails_the_request(query, words):
    with pytest.raises(exception.InvalidInput) as failure:
        mask(query)

    assert 'hint query = ' in str(failure.value)
    assert words in str(failure.value)
    assert 'r1' not in str(failure.value)


def test_one_host_that_a_query_makes_no_sense_on_is_enough():
    """As when hosts are asked one after another."""
    query = ['or', ['=', '$host', 'a'], ['<', '$stats.n', 3]]

    with pytest.raises(exception.InvalidInput):
        mask(query, a_host('a', stats={'n': 1}), a_host('b', stats={'n': 'x'}))


def test_no_host_raises_nothing():
    request = a_request(hints={'query': ['["bogus"]']})

    assert JsonFilter().mask(hosts(), request).tolist() == []


@pytest.mark.parametrize('hints', [
    None, {}, {'query': []}, {'query': ''}, {'other': ['[']}])
def test_all_pass_without_a_query(hints):
    assert JsonFilter().mask(hosts(HOST), a_request(hints=hints)) == [True]


def test_two_queries_are_no_query():
    request = a_request(hints={'query': ['["and"]', '["and"]']})

    with pytest.raises(exception.InvalidInput, match='one query'):
        JsonFilter().mask(hosts(HOST), request)


@pytest.mark.parametrize('text', [
    '[' * 10000, '["and", ' * 10000 + '1' + ']' * 10000,
    '["and", ' * 101 + '1' + ']' * 101,
    '["=", 1, ' + '{"a": ' * 500 + '1' + '}' * 500 + ']'],
    ids=['open', 'deep', 'just too deep', 'deep objects'])
def test_a_query_that_is_too_deep_is_refused(text):
    with pytest.raises(exception.InvalidInput,
                       match=r'at most 100 levels|Expecting'):
        mask(text)


def test_a_query_may_be_a_hundred_levels_deep():
    assert mask('["and", ' * 100 + '1' + ']' * 100) == [True]


def test_a_host_that_never_reported_has_no_text_and_no_amounts():
    host = a_host(**NEVER_REPORTED)

    assert mask(['=', '$free_ram_mb', 0], host) == [True]
    assert mask(['=', '$stats.rack', 2, 2], host) == [True]
    assert mask(['=', '$hypervisor_type', 2, 2], host) == [True]


def test_hosts_are_judged_each_by_its_own_values():
    """Also where some have a variable and others have not."""
    records = [a_host('a', free_ram_mb=1, stats={}),
               a_host('b', free_ram_mb=2, stats={'n': 2}),
               a_host('c', free_ram_mb=3, stats={'n': 2})]

    assert mask(['=', '$stats.n', '$free_ram_mb', 2], *records) == [
        False, True, False]
    assert mask(['in', '$free_ram_mb', '$stats.n', 3], *records) == [
        False, True, True]


def test_does_not_look_at_the_service():
    assert mask(['=', '$service.disabled', None, 1],
                a_host(service_up=False)) == [False]


@pytest.mark.parametrize(('query', 'words'), [
    (['>=', '$free_ram_mb', 4096],
     'query [">=", "$free_ram_mb", 4096] not met, hosts have free_ram_mb '
     '512, 2048'),
    (['and', ['=', '$host', 'x'], ['=', '$nothing', 1]],
     'query ["and", ["=", "$host", "x"], ["=", "$nothing", 1]] not met, '
     'hosts have host a, h'),
    (['or'], 'query ["or"] not met')])
def test_says_what_the_hosts_have_of_what_is_asked(query, words):
    block = hosts(HOST, a_host('a', free_ram_mb=512))

    assert JsonFilter().reason(block, a_request(
        hints={'query': json.dumps(query)})) == words


def test_many_numbers_are_said_as_a_range():
    block = hosts(*(a_host(free_ram_mb=number) for number in range(9)))

    assert JsonFilter().reason(block, a_request(
        hints={'query': '["<", "$free_ram_mb", 0]'})).endswith(
        'hosts have free_ram_mb 0 to 8')
