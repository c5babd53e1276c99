"""Signing messages between daemons with a key that computes do not have.

Every compute service has the password of the message broker, so a message
there may be anybody's.  A message is a dict of JSON: its ``form``, the
sender's ``host`` for log lines, the ``text`` that is signed and the
``signature``, HMAC-SHA256 in hexadecimal.
"""

import hashlib
import hmac
import json
import time

#: The number of the form in which daemons tell each other of picks.
FORM = 2

#: Seconds for which a key that has changed is still accepted.
PREVIOUS = 300

#: Characters of a message, at most.
LONGEST = 4 << 20


class Rejected(Exception):
    """A message does not count; the text says why."""


class Signer:
    """Signs messages, and checks signatures.

    find_key: function that returns the key of now, bytes, or None for none;
        ``refresh`` calls it.
    clock: as time.monotonic.
    """

    def __init__(self, find_key, clock=time.monotonic):
        self._find_key, self._clock = find_key, clock
        # The key to sign with; (an earlier key, until when it is accepted).
        self._key, self._previous = None, []

    @property
    def has_key(self):
        """Whether messages can be signed."""
        return self._key is not None

    def refresh(self):
        """Find the key of now; raises what ``find_key`` does."""
        key, now = self._find_key(), self._clock()
        self._previous = [each for each in self._previous if each[1] > now]
        if key != self._key:
            if self._key is not None:
                self._previous.append((self._key, now + PREVIOUS))
            self._key = key

    def sign(self, host, message):
        """Return a message, a dict of JSON, as it is sent.

        host: name of this host.
        """
        text = json.dumps(message)
        return {'form': FORM, 'host': host, 'text': text,
                'signature': _signature(self._key, text)}

    def read(self, sent):
        """Return the message that was sent: dict.

        Raises Rejected for one that is not signed with the key.
        """
        if not isinstance(sent, dict):
            raise Rejected('it is no message of a daemon')
        if sent.get('form') != FORM:
            raise Rejected(f'it is in form {sent.get("form")!r:.20}, and this '
                           f'release knows form {FORM}')
        text, signature = sent.get('text'), sent.get('signature')
        if not isinstance(text, str) or not isinstance(signature, str):
            raise Rejected('it is not signed')
        if len(text) > LONGEST:
            raise Rejected(f'it has more than {LONGEST} characters')
        if not any(hmac.compare_digest(
                _signature(key, text).encode(), signature.encode(
                    errors='replace')) for key in self._keys()):
            raise Rejected('it is signed with another key')
        return json.loads(text)

    def _keys(self):
        now = self._clock()
        if self._key is not None:
            yield self._key
        for key, until in self._previous:
            if until > now:
                yield key


def _signature(key, text):
    return hmac.new(key, text.encode(errors='replace'),
                    hashlib.sha256).hexdigest()
