"""The client of the attestation server, which knows nodes' trust levels.

Only TrustedFilter uses it.  It is the only module of the rules that does
network I/O and reads the clock.
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

#: The level of nodes for which the server returns none.
UNKNOWN = 'unknown'

_TIMEOUT = 20               # seconds, for each socket operation
_TOO_LONG = 64 << 20        # size of a response, in bytes
_GOOD = (200, 201, 202, 204)

#: Format of dates that are not in ISO 8601: that of the C locale.
_C_DATE = '%a %b %d %H:%M:%S %Y'

_Entry = collections.namedtuple('_Entry', 'level at')
_NEVER = _Entry(UNKNOWN, 0.0)


class AttestationServer:
    """Queries the server of [trusted_computing] over HTTPS.

    Raises OSError or ValueError if the certificate authority's file cannot be
    read or the port is not a number.
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
        """Return the server's attestations of nodes, by name: list of dict.

        Returns [] and logs a warning for a failed query.
        """
        try:
            return self._exchange(nodes)
        except (OSError, http.client.HTTPException, ValueError,
                RecursionError) as exc:
            error = repr(exc)
        LOG.warning('Attestation server %(host)s:%(port)s returned no valid '
                    'response; all hosts count as %(level)s: %(error).200s',
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
            body = response.read(_TOO_LONG)
        finally:
            connection.close()
        if len(body) == _TOO_LONG:
            raise ValueError(f'a response of {_TOO_LONG} bytes or more')
        document = json.loads(body)
        if not isinstance(document, dict) or not isinstance(
                document.get('hosts'), list):
            raise ValueError('no list of hosts in the response')
        return document['hosts']


class TrustLevels:
    """A cache of nodes' trust levels.

    A background thread polls the server, one poll at a time: when the
    attestation of a requested node is stale or missing, and when the last
    response has reached half of its lifetime.  During a poll the last response
    counts, until the end of its lifetime.

    poll: function of a list of node names that returns dicts of host_name,
        trust_lvl and vtime, the time of the attestation.
    lifetime: seconds for which a response, and an attestation, is valid.
    clock: function that returns seconds since the epoch.
    """

    #: Seconds to wait for a response if there is no valid one.
    PATIENCE = _TIMEOUT

    def __init__(self, poll, lifetime, clock=time.time):
        self._poll, self._lifetime, self._clock = poll, lifetime, clock
        self._entries, self._polled_at = {}, -math.inf
        self._thread = None
        self._lock = threading.Lock()

    def of(self, nodes, all_nodes):
        """Return the levels of nodes: {node: level}.

        all_nodes: the nodes to poll, if a poll is due.
        Waits at most PATIENCE seconds, and only if there is no valid response,
        as at the first request.  Without a response all levels are UNKNOWN.
        """
        now = self._clock()
        is_valid = now - self._polled_at <= self._lifetime
        if (not is_valid or now - self._polled_at > self._lifetime / 2
                or any(self._is_stale(node, now) for node in nodes)):
            thread = self._start_poll(all_nodes)
            if not is_valid:
                with turns.waiting():
                    thread.join(self.PATIENCE)
                if thread.is_alive():
                    return dict.fromkeys(nodes, UNKNOWN)
        return self.known(nodes)

    def known(self, nodes):
        """Return the cached levels of nodes: {node: level}."""
        entries = self._entries
        return {node: entries.get(node, _NEVER).level for node in nodes}

    def _is_stale(self, node, now):
        return now - self._entries.get(node, _NEVER).at > self._lifetime

    def _start_poll(self, all_nodes):
        """Return the thread that polls the server; start one if there is none.
        """
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._refresh, args=(all_nodes,),
                    name='attestation server', daemon=True)
                self._thread.start()
            return self._thread

    def _refresh(self, all_nodes):
        entries = {}
        try:
            polled = dict.fromkeys(all_nodes, _NEVER)
            for attestation in self._poll(list(polled)):
                name = (isinstance(attestation, dict)
                        and attestation.get('host_name'))
                if isinstance(name, str) and name in polled:
                    polled[name] = self._read(attestation)
            entries = polled
        finally:
            self._entries, self._polled_at = entries, self._clock()

    def _read(self, attestation):
        at = _seconds(attestation.get('vtime'))
        if at is None:
            return _Entry(UNKNOWN, self._clock())
        return _Entry(attestation.get('trust_lvl'), at)


def _seconds(text):
    """Return a time as seconds since the epoch; None if it cannot be read.

    A time without zone is in UTC.
    """
    for read in (timeutils.parse_isotime,
                 lambda text: datetime.datetime.strptime(text, _C_DATE)):
        try:
            moment = timeutils.normalize_time(read(text))
            return moment.replace(tzinfo=datetime.UTC).timestamp()
        except (TypeError, ValueError, OverflowError, AttributeError):
            continue
    return None
