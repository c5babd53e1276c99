"""Private RabbitMQs that can be stopped, hung and restarted."""

from concurrent import futures
import os
import pathlib
import signal
import uuid

from pifpaf.drivers import rabbitmq as pifpaf
import sqlalchemy as sa

from tests.functional import broker
from tests.functional import ports


class Driver(pifpaf.RabbitMQDriver):
    """A RabbitMQ whose account is in its configuration file.

    So it needs no rabbitmqctl, of which each call takes seconds.
    lines: more lines of the file.
    """

    def __init__(self, *lines, **kwargs):
        super().__init__(**kwargs)
        self._lines = (f'default_user = {self.username}',
                       f'default_pass = {self.password}', *lines)

    def start_node(self, nodename):
        if 'RABBITMQ_CONFIG_FILE' not in self.env:
            config = pathlib.Path(self.tempdir, 'rabbitmq.conf')
            config.write_text('\n'.join([*self._lines, '']))
            self.env['RABBITMQ_CONFIG_FILE'] = str(config)
        return super().start_node(nodename)

    def rabbitmqctl(self, nodename, command):
        """Skip the creation of an account."""


class RabbitMQ:
    """A server on a port of its own; not running yet.

    url: for oslo.messaging.  Accounts and durable queues survive a restart.
    """

    def __init__(self):
        port, name = ports.free_port(), f'nova-sched-{uuid.uuid4().hex[:8]}'
        self._node, self._made = f'{name}@localhost', False
        self._driver = Driver(
            # Nodes of a cluster join the first one at their start.
            'cluster_formation.peer_discovery_backend = classic_config',
            f'cluster_formation.classic_config.nodes.1 = {self._node}',
            port=port, nodename=name, env_prefix='NOVA_SCHED_OWN_RABBIT')
        self.url = (f'rabbit://{self._driver.username}:'
                    f'{self._driver.password}@127.0.0.1:{port}/')

    def start(self):
        """Start it; return once it answers."""
        if self._made:
            self._driver.start_node(self._node)
        else:
            self._driver.setUp()
            self._made = True

    def stop(self):
        """Stop it as an operator does."""
        self._driver.kill_node(self._node)

    def hang(self):
        """Make it accept connections and answer nothing."""
        self._signal(signal.SIGSTOP)

    def resume(self):
        self._signal(signal.SIGCONT)

    def _signal(self, number):
        os.killpg(self._driver._process[self._node].pid, number)

    def end(self):
        """Kill it and remove its files."""
        if self._made:
            self._driver.cleanUp()


class Cluster(RabbitMQ):
    """A cluster of three servers, not running yet.

    Each has a port and a directory of its own.
    url: with all nodes, as operators write it.  urls: of each node.
    """

    def __init__(self):
        super().__init__()
        self._nodes = [self._node, *(
            self._node.replace('@', f'-{number}@') for number in (2, 3))]
        alone, self.urls = sa.make_url(self.url), [self.url]
        for node in self._nodes[1:]:
            self._driver._ports[node] = ports.free_port()
            self.urls.append(alone.set(port=self._driver.get_port(
                node)).render_as_string(hide_password=False))
        self.url = broker.of_cluster(self.urls)

    def start(self):
        """Start all nodes; return once they answer."""
        super().start()
        with futures.ThreadPoolExecutor() as pool:
            list(pool.map(self._driver.start_node, self._nodes[1:]))

    def kill(self, number):
        """Kill a node, 0 to 2, as a loss of power does."""
        self._driver.kill_node(self._nodes[number], signal.SIGKILL)

    def start_again(self, number):
        """Start a killed node; return once it answers.

        If all nodes were killed, start the last killed node first: the
        others wait for it.
        """
        self._driver.start_node(self._nodes[number])
