"""The attestation server: which compute nodes run what they should.

The only thing among the rules that talks to somebody and looks at the clock,
in a thread of its own; made only where TrustedFilter is enabled.
"""

import collections
import datetime
import http.client
import json
import math
import ssl
import threading
import time

from oslo_log import log as logging
from oslo_utils import timeutils

from nova_sched.concurrency import turns

LOG = logging.getLogger(__name__)

#: The level of nodes that the server has not judged.
UNKNOWN = 'unknown'

_TIMEOUT = 20               # seconds for each step of an exchange
_TOO_LONG = 64 << 20        # for an answer, in bytes
_GOOD = (200, 201, 202, 204)

#: How dates are written where they are not ISO 8601 (the C locale's).
_C_DATE = '%a %b %d %H:%M:%S %Y'

_Entry = collections.namedtuple('_Entry', 'level at')
_NEVER = _Entry(UNKNOWN, 0.0)


class AttestationServer:
    """Asks the server of [trusted_computing], over HTTPS.

    Raises OSError or ValueError when the certificate authority's file cannot
    be read or the port is none.
    """

    def __init__(self, conf):
        trusted_computing = conf.trusted_computing
        self._host = trusted_computing.attestation_server
        self._port = int(trusted_computing.attestation_port)
        self._path = f'{trusted_computing.attestation_api_url}/PollHosts'
        self._headers = {'content-type': 'application/json',
                         'Accept': 'application/json'}
        if trusted_computing.attestation_auth_blob:
            self._headers['x-auth-blob'] = (
                trusted_computing.attestation_auth_blob)
        self._tls = ssl.create_default_context(
            cafile=trusted_computing.attestation_server_ca_file)
        if trusted_computing.attestation_insecure_ssl:
            self._tls.check_hostname = False
            self._tls.verify_mode = ssl.CERT_NONE

    def poll(self, nodes):
        """Return what the server says of nodes, given by name: list.

        Empty, with a warning, when it gives no answer that can be read.
        """
        try:
            return self._exchange(nodes)
        except (OSError, http.client.HTTPException, ValueError,
                RecursionError) as exc:
            error = repr(exc)
        LOG.warning('The attestation server %(host)s:%(port)s gave no answer '
                    'that can be read; all hosts count as %(level)s: '
                    '%(error).200s',
                    {'host': self._host, 'port': self._port,
                     'level': UNKNOWN, 'error': error})
        return []

    def _exchange(self, nodes):
        if not self._host:
            raise ValueError(
                '[trusted_computing] attestation_server is not set')
        connection = http.client.HTTPSConnection(
            self._host, self._port, timeout=_TIMEOUT, context=self._tls)
        try:
            body = json.dumps({'count': len(nodes), 'hosts': nodes})
            connection.request('POST', self._path, body, self._headers)
            response = connection.getresponse()
            if response.status not in _GOOD:
                raise ValueError(f'HTTP status {response.status}')
            answer = response.read(_TOO_LONG)
        finally:
            connection.close()
        if len(answer) == _TOO_LONG:
            raise ValueError(f'an answer of {_TOO_LONG} bytes or more')
        answer = json.loads(answer)
        if not isinstance(answer, dict) or not isinstance(
                answer.get('hosts'), list):
            raise ValueError('no list of hosts in the answer')
        return answer['hosts']


class TrustLevels:
    """The trust levels of nodes, as an attestation server last told them.

    The server is asked in a thread of its own, one exchange at a time: when
    the attestation of a node that is asked for is stale or missing, and when
    half of the lifetime of the last answer has gone.  Meanwhile the last
    answer counts, until its lifetime has gone.

    poll: function of a list of node names; returns dicts of host_name,
        trust_lvl and vtime, the time of the attestation.
    lifetime: seconds for which an answer, and an attestation, is good.
    clock: function that returns seconds since the epoch.
    """

    #: Seconds to wait for an answer where none is good.
    PATIENCE = _TIMEOUT

    def __init__(self, poll, lifetime, clock=time.time):
        self._poll, self._lifetime, self._clock = poll, lifetime, clock
        self._entries, self._heard = {}, -math.inf
        self._asking = None
        self._lock = threading.Lock()

    def of(self, nodes, everyone):
        """Return {node: level} of nodes.

        everyone: the nodes that the server is asked about, if it is.
        Waits only where no answer is good, as at the first request, and then
        at most PATIENCE seconds; without an answer all levels are UNKNOWN.
        """
        now = self._clock()
        is_good = now - self._heard <= self._lifetime
        if (not is_good or now - self._heard > self._lifetime / 2
                or any(self._is_stale(node, now) for node in nodes)):
            asking = self._ask(everyone)
            if not is_good:
                with turns.waiting():
                    asking.join(self.PATIENCE)
                if asking.is_alive():
                    return dict.fromkeys(nodes, UNKNOWN)
        return self.known(nodes)

    def known(self, nodes):
        """Return {node: level} as last heard, without asking."""
        entries = self._entries
        return {node: entries.get(node, _NEVER).level for node in nodes}

    def _is_stale(self, node, now):
        return now - self._entries.get(node, _NEVER).at > self._lifetime

    def _ask(self, everyone):
        """Return the thread that asks the server; start one if none does."""
        with self._lock:
            if self._asking is None or not self._asking.is_alive():
                self._asking = threading.Thread(
                    target=self._learn, args=(everyone,),
                    name='attestation server', daemon=True)
                self._asking.start()
            return self._asking

    def _learn(self, everyone):
        entries = {}
        try:
            entries = self._asked(everyone)
        finally:
            self._entries, self._heard = entries, self._clock()

    def _asked(self, everyone):
        entries = dict.fromkeys(everyone, _NEVER)
        for answer in self._poll(list(entries)):
            name = isinstance(answer, dict) and answer.get('host_name')
            if isinstance(name, str) and name in entries:
                entries[name] = self._read(answer)
        return entries

    def _read(self, answer):
        at = _seconds(answer.get('vtime'))
        if at is None:
            return _Entry(UNKNOWN, self._clock())
        return _Entry(answer.get('trust_lvl'), at)


def _seconds(text):
    """Return a time as seconds since the epoch, UTC unless it says otherwise.

    None when it cannot be read.
    """
    for read in (timeutils.parse_isotime,
                 lambda text: datetime.datetime.strptime(text, _C_DATE)):
        try:
            moment = timeutils.normalize_time(read(text))
            return moment.replace(tzinfo=datetime.UTC).timestamp()
        except (TypeError, ValueError, OverflowError, AttributeError):
            continue
    return None
