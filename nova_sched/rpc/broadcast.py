"""What the daemons on one message broker tell each other.

A topic of their own, which no service of Nova knows: each hears what any of
them says, itself included.  Nobody answers, so there is no RPC server, whose
threads would take longer to hand on what is heard than it takes to hear it.
"""

from oslo_log import log as logging
import oslo_messaging as messaging

LOG = logging.getLogger(__name__)


class Broadcast:
    """One who speaks and hears on the topic of a deployment's daemons.

    conf: ConfigOpts; those with the same control_exchange and
        [DEFAULT] scheduler_topic hear each other.
    transport: of ``rpc.get_transport``.
    """

    def __init__(self, conf, transport):
        topic = f'nova_sched.{conf.control_exchange}.{conf.scheduler_topic}'
        self._transport, self._heard = transport, None
        self._target = messaging.Target(topic=topic, server=conf.host,
                                        fanout=True)
        self._client = messaging.get_rpc_client(
            transport, messaging.Target(topic=topic, fanout=True), retry=1)
        self._listener = None

    def start(self, heard):
        """Hear from now on; raises what oslo.messaging does.

        heard: function of what was said, a dict; called in one thread, in
            the order in which each of the others has said it.
        """
        self._heard = heard
        self._listener = self._transport._listen(self._target, 1, None)
        self._listener.start(self._hear)

    def say(self, said):
        """Tell everybody a dict of JSON.

        Raises oslo.messaging's errors where the broker does not take it.
        """
        self._client.cast({}, 'hear', said=said)

    def stop(self):
        """Hear no more."""
        self._listener.stop()
        self._listener.cleanup()

    def _hear(self, incoming):
        [message] = incoming
        # A bus within this process has no more than the other.
        if getattr(message, 'take', message.acknowledge)() is False:
            # The broker has it again, and gives it once more.
            return
        try:
            getattr(message, 'fetch', lambda: None)()
            self._heard(message.message['args']['said'])
        except Exception as error:
            LOG.warning('A message on topic %(topic)s is not from a daemon: '
                        '%(error)r',
                        {'topic': self._target.topic, 'error': error})
