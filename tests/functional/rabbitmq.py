"""Private RabbitMQs that can be stopped, hung and restarted."""

from concurrent import futures
import os
import pathlib
import signal
import uuid

from pifpaf.drivers import rabbitmq as pifpaf
import sqlalchemy as sa

from tests.functional import ports


class RabbitMQ:
    """A server on a port of its own; not running yet.

    url: for oslo.messaging.  Accounts and durable queues survive a restart.
    """

    def __init__(self):
        port, name = ports.free_port(), f'nova-sched-{uuid.uuid4().hex[:8]}'
        self._driver = pifpaf.RabbitMQDriver(
            port=port, nodename=name, env_prefix='NOVA_SCHED_OWN_RABBIT')
        self._node, self._made = f'{name}@localhost', False
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
        hosts = (url.removeprefix('rabbit://').rstrip('/')
                 for url in self.urls)
        self.url = f'rabbit://{",".join(hosts)}/'

    def start(self):
        """Start all nodes; return once they answer."""
        super().start()
        first, *others = self._nodes
        # New nodes join the first one at their start, without rabbitmqctl,
        # of which each call takes seconds.
        config = pathlib.Path(self._driver.tempdir, 'cluster.conf')
        config.write_text(
            'cluster_formation.peer_discovery_backend = classic_config\n'
            f'cluster_formation.classic_config.nodes.1 = {first}\n')
        self._driver.env['RABBITMQ_CONFIG_FILE'] = str(config)
        with futures.ThreadPoolExecutor() as pool:
            list(pool.map(self._driver.start_node, others))

    def kill(self, number):
        """Kill a node, 0 to 2, as a loss of power does."""
        self._driver.kill_node(self._nodes[number], signal.SIGKILL)

    def start_again(self, number):
        """Start a killed node; return once it answers.

        If all nodes were killed, start the last killed node first: the
        others wait for it.
        """
        self._driver.start_node(self._nodes[number])
