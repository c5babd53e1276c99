"""RetryFilter."""

import pytest

from nova_sched.scheduler.filters.retry_filter import RetryFilter
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import survivors


def block():
    return hosts(a_host('h1', nodename='n1'), a_host('h1', nodename='n2'),
                 a_host('h2', nodename='n1'), a_host('H1', nodename='n1'))


@pytest.mark.parametrize('retry', [None, []])
def test_passes_everything_at_the_first_attempt(retry):
    request = a_request(retry=retry)

    assert RetryFilter().mask(block(), request).all()


@pytest.mark.parametrize(('tried', 'left'), [
    ([('h1', 'n1')], [False, True, True, True]),
    ([('h1', 'n2'), ('h2', 'n1')], [True, False, False, True]),
    ([('h1', 'N1')], [True, True, True, True]),
    ([('h9', 'n9')], [True, True, True, True]),
    ([('h1', 'n9'), ('h9', 'n1')], [True, True, True, True]),
    ([('h1', 'n1'), ('h2', 'n2')], [False, True, True, True]),
])
def test_rejects_exactly_the_host_and_node_tried_before(tried, left):
    """Both names must match, capitals and all."""
    request = a_request(retry=tried)

    assert RetryFilter().mask(block(), request).tolist() == left


def test_costs_no_look_at_all_hosts_for_each_that_was_tried():
    """It is asked for each instance of a request."""
    asked, found = [], block()
    named = found.named
    found.named = lambda name, wanted: asked.append(name) or named(name,
                                                                   wanted)

    RetryFilter().mask(found, a_request(
        retry=[(f'h{number}', 'n1') for number in range(100)]))

    assert asked == ['host', 'nodename']


def test_runs_for_every_instance_of_a_request():
    assert RetryFilter().run_filter_for_index(1)


def test_names_the_rejected_hosts_in_the_log(caplog):
    with caplog.at_level('INFO', 'nova_sched'):
        survivors(RetryFilter(), block(),
                  a_request(retry=[('h1', 'n1'), ('h2', 'n2')]))

    assert caplog.messages == [
        "Host ['h1', 'n1'] fails.  Previously tried hosts: "
        "[['h1', 'n1'], ['h2', 'n2']]"]


def test_says_which_hosts_were_tried_before():
    """And the node, where it has another name."""
    block = hosts(a_host('h1'), a_host('h2', nodename='n1'))

    assert RetryFilter().reason(block, a_request()) == (
        'tried before: h1, h2 node n1')


def test_counts_the_hosts_after_the_first_five():
    block = hosts(*(a_host(f'h{number}') for number in range(7)))

    assert RetryFilter().reason(block, a_request()) == (
        'tried before: h0, h1, h2, h3, h4 and 2 more')
