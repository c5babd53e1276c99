"""A service on a cluster of three RabbitMQ nodes that are killed in turn."""

import contextlib
import functools
import itertools
import uuid

import oslo_messaging as messaging
import pytest

from nova_sched.context import RequestContext
from tests.builders import messages as builders
from tests.builders import rules
from tests.builders.examples import so_many
from tests.functional import rabbitmq
from tests.functional.processes import PATIENCE
from tests.functional.processes import until

pytestmark = pytest.mark.real

#: The orders in which the nodes are killed.
ORDERS = [*itertools.permutations(range(3))]
#: Seconds until a caller calls again: a call is lost while the service has no
#: queue.
AGAIN = 3


class Endpoint:
    """Answers calls."""

    target = messaging.Target(version='4.5')

    def ping(self, ctxt):
        return 'pong'


@pytest.fixture(scope='module')
def cluster():
    """A Cluster with all nodes running."""
    cluster = rabbitmq.Cluster()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.end()


@pytest.fixture
def conf():
    """Function: the options of the service, or of a caller."""
    return functools.partial(
        rules.a_conf, DEFAULT__host='here',
        DEFAULT__control_exchange=f'nodes-{uuid.uuid4().hex[:8]}',
        DEFAULT__rpc_response_timeout=AGAIN)


@pytest.fixture
def answers(cluster, conf):
    """Function: whether the service answers a caller at one node.

    The service has all nodes in transport_url, each caller one.
    """
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(
            builders.transport(conf(), cluster.url))
        stack.enter_context(builders.serving(made, made.conf, Endpoint()))

        def answers(number):
            with (builders.transport(conf(), cluster.urls[number]) as caller,
                  contextlib.suppress(messaging.MessagingTimeout)):
                client = builders.raw_client(caller)
                return client.call(RequestContext(), 'ping') == 'pong'
        yield answers


@pytest.mark.parametrize('order', ORDERS[:so_many(len(ORDERS), 1)], ids=str)
def test_each_running_node_is_served(cluster, answers, order):
    """Nodes are killed until none runs, and started in reverse order."""
    def check(number):
        until(lambda: answers(number),
              f'an answer at node {number} after those of {order}',
              PATIENCE, 0)

    check(order[0])
    for killed, alive in itertools.pairwise(order):
        cluster.kill(killed)
        check(alive)
    cluster.kill(order[-1])
    for started in reversed(order):
        cluster.start_again(started)
        check(started)
