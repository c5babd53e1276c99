"""Messages between the daemons on one message broker.

Daemons publish to a topic of their own, and each receives all messages, its
own included.  Messages have no reply.  An RPC server is not needed for them,
and would spend more time on thread switches than on the messages.
"""

from oslo_log import log as logging
import oslo_messaging as messaging

LOG = logging.getLogger(__name__)


class Broadcast:
    """Publisher and listener on the topic of a deployment's daemons.

    conf: ConfigOpts; daemons with the same control_exchange and
        [DEFAULT] scheduler_topic receive each other's messages.
    transport: of ``rpc.get_transport``.
    """

    def __init__(self, conf, transport):
        topic = f'nova_sched.{conf.control_exchange}.{conf.scheduler_topic}'
        self._transport, self._callback = transport, None
        self._target = messaging.Target(topic=topic, server=conf.host,
                                        fanout=True)
        self._client = messaging.get_rpc_client(
            transport, messaging.Target(topic=topic, fanout=True), retry=1)
        self._listener = None

    def start(self, callback):
        """Start to receive; raises the errors of oslo.messaging.

        callback: function of a published dict; called in one thread, in the
            order of each publisher.
        """
        self._callback = callback
        self._listener = self._transport._listen(self._target, 1, None)
        self._listener.start(self._receive)

    def publish(self, content):
        """Publish a dict of JSON.

        Raises oslo.messaging's errors if the broker does not accept it.
        """
        self._client.cast({}, 'hear', said=content)

    def stop(self):
        """Stop receiving."""
        self._listener.stop()
        self._listener.cleanup()

    def _receive(self, incoming):
        [message] = incoming
        # Messages of the in-process bus have no ``take`` and no ``load``.
        if getattr(message, 'take', message.acknowledge)() is False:
            # The broker has requeued it, and delivers it again.
            return
        try:
            getattr(message, 'load', lambda: None)()
            self._callback(message.message['args']['said'])
        except Exception as error:
            LOG.warning('A message on topic %(topic)s is not from a daemon: '
                        '%(error)r',
                        {'topic': self._target.topic, 'error': error})
