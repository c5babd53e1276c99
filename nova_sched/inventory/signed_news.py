"""Messages between daemons, signed with a key that compute services lack.

Every compute service has the password of the message broker, so a message
there may come from any of them.  A message is a dict of JSON: its ``form``,
the sender's ``host`` for log lines, the signed ``text`` and the ``signature``,
HMAC-SHA256 in hexadecimal.
"""

import hashlib
import hmac
import json
import time

#: Version of the message format.
FORM = 2

#: Seconds for which a replaced key is still accepted.
PREVIOUS = 300

#: Maximum number of characters in a message.
LONGEST = 4 << 20


class Rejected(Exception):
    """A message is rejected; the text is the reason."""


class Signer:
    """Signs messages and checks signatures.

    find_key: function that returns the current key, bytes or None; called by
        ``refresh``.
    clock: as time.monotonic.
    """

    def __init__(self, find_key, clock=time.monotonic):
        self._find_key, self._clock = find_key, clock
        # The current key; earlier keys as (key, end of acceptance).
        self._key, self._previous = None, []

    @property
    def has_key(self):
        """Whether messages can be signed."""
        return self._key is not None

    def refresh(self):
        """Look up the current key; raises as ``find_key``."""
        key, now = self._find_key(), self._clock()
        self._previous = [item for item in self._previous if item[1] > now]
        if key != self._key:
            if self._key is not None:
                self._previous.append((self._key, now + PREVIOUS))
            self._key = key

    def sign(self, host, message):
        """Return the signed form of a message, a dict of JSON.

        host: name of this host.
        """
        text = json.dumps(message)
        return {'form': FORM, 'host': host, 'text': text,
                'signature': _signature(self._key, text)}

    def read(self, sent):
        """Return the content of a received message: dict.

        Raises Rejected for a message that is not signed with the key.
        """
        if not isinstance(sent, dict):
            raise Rejected('it is not a message of a daemon')
        if sent.get('form') != FORM:
            raise Rejected(f'its format is {sent.get("form")!r:.20}, and this '
                           f'release reads format {FORM}')
        text, signature = sent.get('text'), sent.get('signature')
        if not isinstance(text, str) or not isinstance(signature, str):
            raise Rejected('it is not signed')
        if len(text) > LONGEST:
            raise Rejected(f'it has more than {LONGEST} characters')
        keys = [key for key, until in self._previous if until > self._clock()]
        if not any(hmac.compare_digest(
                _signature(key, text).encode(),
                signature.encode(errors='replace'))
                for key in [self._key, *keys] if key is not None):
            raise Rejected('it is signed with another key')
        return json.loads(text)


def _signature(key, text):
    return hmac.new(key, text.encode(errors='replace'),
                    hashlib.sha256).hexdigest()
