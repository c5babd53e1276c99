"""Publishing messages that no client library would write."""

import amqp
import kombu

from tests.functional import broker


class Poisoner:
    """Publishes messages, and lists those that the broker refuses.

    url: of the broker.
    """

    def __init__(self, url):
        self._url, self._connection = broker.plain_url(url), None
        self.refused = []

    def close(self):
        if self._connection is not None:
            self._connection.close()

    def publish(self, what, message, exchange, routing_key):
        """Publish a Message of tests.builders.poison.

        exchange: name; routing_key: bytes or text.
        """
        if self._connection is None:
            self._connection = kombu.Connection(
                self._url, transport_options={'confirm_publish': True})
        try:
            self._connection.default_channel.basic_publish(
                message, exchange=exchange, routing_key=routing_key,
                timeout=10)
        except (amqp.AMQPError, OSError, UnicodeDecodeError):
            self.refused.append(what)
            self._connection.release()
            self._connection = None
