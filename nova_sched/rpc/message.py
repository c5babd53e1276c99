"""Validated requests from the bus.

oslo.messaging trusts messages to come from its own clients.  A message of
another program may want a reply without an address; have a context so large
that each log line takes long; or have keys that collide with arguments of the
library's functions.
"""

from nova_sched.objects import bounds
from nova_sched.rpc import decoding

#: Bytes of JSON from which arguments are decoded only when the message is
#: processed: decoded, they would need ten times the memory while it waits.
LARGE = 64 << 10
#: Maximum bytes of an id and of a queue's name, by AMQP.
NAME_BYTES = 255
#: Maximum lists, objects and members of a context: it is copied, and read for
#: each log line.  A large service catalogue has a few hundred.
CONTEXT_PARTS = 10_000
#: Longest caller timeout with keepalives, in seconds.
LONGEST = 7 * 24 * 3600

#: Keys of the reply address.
_ADDRESS = ('_msg_id', '_reply_q')


class Message(dict):
    """The content of a request.

    raw: kombu message.  Raises the errors of ``decoding.read``.

    refused: text of an error for the caller, or None.
    size: bytes of JSON.
    routing_key, consumer: of its delivery; the tag of its consumer.
    """

    refused = None
    _is_deferred = False

    def __init__(self, raw):
        body = decoding.body(raw)
        super().__init__(decoding.opened(body, bounds.MESSAGE_PARTS))
        self._raw, self.size = raw, len(body)
        self.routing_key = raw.delivery_info.get('routing_key')
        self.consumer = raw.delivery_info.get('consumer_tag')

    def defer_arguments(self):
        """Keep the arguments of a large request as octets until ``load``."""
        if self.size > LARGE and 'args' in self:
            del self['args']
            self._is_deferred = True

    def load(self):
        """Decode deferred arguments, when the request is processed."""
        if self._is_deferred:
            self['args'] = decoding.read(self._raw)['args']
            self._is_deferred = False
        self._raw = None

    @property
    def address(self):
        """The reply address: dict."""
        return {name: self.get(name) for name in _ADDRESS}

    @property
    def is_answerable(self):
        """Whether it wants no reply, or has a valid reply address."""
        msg_id, queue = self.address.values()
        return not msg_id or (_is_name(msg_id) and _is_name(queue))

    def acknowledge(self):
        """Acknowledge it at the broker."""
        self._raw.ack()

    def drop(self):
        """Reject it at the broker, which discards it."""
        self._raw.reject()

    def refuse(self, reason):
        """Clear it except for its address, and set the caller's error."""
        address = self.address
        self.clear()
        self.update(address)
        self.refused = reason

    def clean(self):
        """Remove keys that break oslo.messaging.

        Refuses a message with too large a context.
        """
        # The library would pass it as an argument ``self``.
        self.pop('_context_self', None)
        self['_timeout'] = _seconds(self.get('_timeout'))
        if not _is_name(self.get('_unique_id')):
            self.pop('_unique_id', None)
        context = [value for name, value in self.items()
                   if name.startswith('_context_')]
        if _has_more_parts(context, CONTEXT_PARTS):
            self.refuse(f'context: more than {CONTEXT_PARTS} lists, '
                        f'objects and members')


def _is_name(value):
    """Return whether a value is a valid name in AMQP."""
    try:
        return (isinstance(value, str)
                and 0 < len(value.encode()) <= NAME_BYTES)
    except UnicodeEncodeError:
        return False


def _has_more_parts(value, limit):
    """Return whether a value of JSON has more parts than a limit."""
    count, queue = 0, [value]
    while queue and count <= limit:
        part = queue.pop()
        count += 1
        if isinstance(part, dict):
            queue.extend(part.values())
        elif isinstance(part, list):
            queue.extend(part)
    return count > limit


def _seconds(value):
    """Return a caller's timeout in seconds; None if it is invalid."""
    try:
        seconds = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if 0 < seconds < LONGEST else None
