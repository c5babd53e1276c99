"""A request as it comes from the bus, with nothing in it that does harm.

oslo.messaging takes a message for what its own clients make.  A message of
anybody else may ask for an answer without an address, which nobody could
send; have a context so large that each log line goes through much of it; or
name its values like arguments of the library's own functions.
"""

from nova_sched.objects import bounds
from nova_sched.rpc import decoding

#: Bytes of a message as JSON that is read once more when it is worked on: as
#: objects it would take ten times as many while it waits.
LARGE = 64 << 10
#: Bytes of an id, and of the name of a queue, which AMQP limits to this.
NAME_BYTES = 255
#: Lists, objects and members of a context, which is copied as it is heard,
#: and gone through for each line of the log; a large catalogue of services
#: has a few hundred.
CONTEXT_PARTS = 10_000
#: Seconds; a caller that gives up later needs no keepalives.
LONGEST = 7 * 24 * 3600

#: Where the answer to a message goes.
_ADDRESS = ('_msg_id', '_reply_q')


class Message(dict):
    """A request: what its envelope holds.

    Raises what ``decoding.read`` does for one that cannot be read.

    refused: None, or what its sender is told instead of an answer.
    size: bytes of JSON.
    """

    refused = None
    _is_put_by = False

    def __init__(self, raw):
        body = decoding.body(raw)
        super().__init__(decoding.opened(body, bounds.MESSAGE_PARTS))
        self._raw, self.size = raw, len(body)

    def put_by(self):
        """Keep the arguments of a large one as octets until ``fetch``."""
        if self.size > LARGE and 'args' in self:
            del self['args']
            self._is_put_by = True

    def fetch(self):
        """Have the arguments as they came; it is worked on from now on."""
        if self._is_put_by:
            self['args'] = decoding.read(self._raw)['args']
            self._is_put_by = False
        self._raw = None

    @property
    def routing_key(self):
        return self._raw.delivery_info.get('routing_key')

    @property
    def consumer(self):
        """The tag of the consumer that it was delivered to."""
        return self._raw.delivery_info.get('consumer_tag')

    @property
    def address(self):
        """Where its answer goes: dict."""
        return {name: self.get(name) for name in _ADDRESS}

    @property
    def is_answerable(self):
        """Whether it wants no answer, or has an address for it."""
        wanted, queue = self.address.values()
        return not wanted or (_is_name(wanted) and _is_name(queue))

    def acknowledge(self):
        """Have the broker count it as delivered."""
        self._raw.ack()

    def drop(self):
        """Have the broker forget it."""
        self._raw.reject()

    def refuse(self, reason):
        """Leave nothing of it but its address, to which a reason is told."""
        address = self.address
        self.clear()
        self.update(address)
        self.refused = reason

    def clean(self):
        """Take out what oslo.messaging would stumble over.

        Refuses a message whose context is too large.
        """
        # The library would take it for its own argument.
        self.pop('_context_self', None)
        self['_timeout'] = _seconds(self.get('_timeout'))
        if not _is_name(self.get('_unique_id')):
            self.pop('_unique_id', None)
        context = [value for name, value in self.items()
                   if name.startswith('_context_')]
        if _is_of_more_parts(context, CONTEXT_PARTS):
            self.refuse(f'context: more than {CONTEXT_PARTS} lists, '
                        f'objects and members')


def _is_name(value):
    """Return whether a value is a text that AMQP can have as a name."""
    try:
        return (isinstance(value, str)
                and 0 < len(value.encode()) <= NAME_BYTES)
    except UnicodeEncodeError:
        return False


def _is_of_more_parts(value, most):
    """Return whether a value of JSON has more parts, at any depth."""
    found, waiting = 0, [value]
    while waiting and found <= most:
        each = waiting.pop()
        found += 1
        if isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)
    return found > most


def _seconds(value):
    """Return a caller's time-out in seconds; None for what is none."""
    try:
        seconds = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if 0 < seconds < LONGEST else None
