"""A RabbitMQ of a test's own, which can be stopped, hung and restarted."""

import os
import signal
import uuid

from pifpaf.drivers import rabbitmq as pifpaf

from tests.functional import ports


class RabbitMQ:
    """A server on a port of its own; not running yet.

    url: for oslo.messaging.  It keeps accounts and durable queues over a
    restart, and nothing else.
    """

    def __init__(self):
        port, name = ports.free_port(), f'nova-sched-{uuid.uuid4().hex[:8]}'
        self._driver = pifpaf.RabbitMQDriver(
            port=port, nodename=name, env_prefix='NOVA_SCHED_OWN_RABBIT')
        self._node, self._made = f'{name}@localhost', False
        self.url = (f'rabbit://{self._driver.username}:'
                    f'{self._driver.password}@127.0.0.1:{port}/')

    def start(self):
        """Run; returns once it answers."""
        if self._made:
            self._driver.start_node(self._node)
        else:
            self._driver.setUp()
            self._made = True

    def stop(self):
        """End it as an operator does."""
        self._driver.kill_node(self._node)

    def hang(self):
        """Have it accept connections and answer nothing."""
        self._signal(signal.SIGSTOP)

    def resume(self):
        self._signal(signal.SIGCONT)

    def _signal(self, number):
        os.killpg(self._driver._process[self._node].pid, number)

    def end(self):
        """Leave nothing of it behind."""
        if self._made:
            self._driver.cleanUp()
