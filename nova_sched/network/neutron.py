"""What Neutron tells the scheduler of ports, subnets and segments.

Paths and names of fields: Neutron's API reference, v2.0.
"""

import functools
import time
import urllib.parse

from keystoneauth1 import service_token
from oslo_log import log as logging

from nova_sched import exception
from nova_sched.concurrency import turns
from nova_sched.network import responses
from nova_sched.network.user_token import UserToken
from nova_sched.remote import Deadline
from nova_sched.service_adapter import FailureReason
from nova_sched.service_adapter import ServiceAdapter
from nova_sched.service_adapter import ServiceUnreachable

LOG = logging.getLogger(__name__)

#: Seconds that Neutron and Placement have to tell of the networks of one
#: request: less than the shortest time for which callers wait for an answer.
LIMIT = 45

#: Seconds before the first retry; each further one waits twice as long.
RETRY_DELAY = 0.5

_SEGMENTS = 'segment'
_OK, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND = 200, 401, 403, 404
_CHECK = ("Check that Neutron runs, and its endpoint in Keystone's catalog or "
          '[neutron] endpoint_override')
_KEYSTONE = ('Check that Keystone runs, and auth_url in [neutron] and '
             '[service_user]')
_LOG_IN = 'Check [neutron] auth_type and the options that it needs'
#: What the operator can do where there is no answer.
_ADVICE = {
    FailureReason.NO_ENDPOINT: (
        "Add an endpoint of service type network to Keystone's catalog for "
        'the region and interfaces of [neutron], or set its '
        'endpoint_override'),
    FailureReason.AUTH_OPTIONS: _LOG_IN,
    FailureReason.CREDENTIALS: (
        'Check the credentials of [neutron] and [service_user]'),
    FailureReason.DISCOVERY: 'Check auth_url in [neutron] and [service_user]',
    FailureReason.KEYSTONE: _KEYSTONE,
    FailureReason.KEYSTONE_TOO_LATE: _KEYSTONE,
    FailureReason.TLS: (
        'Where it speaks https and not http, set cafile of [neutron] and '
        '[service_user] to the authority that signed its certificate'),
    FailureReason.OPTIONS: (
        'Correct the options of [neutron] and [service_user], and restart'),
    FailureReason.NO_ANSWER: _CHECK,
    FailureReason.TOO_LATE: _CHECK,
}


class Neutron:
    """The Neutron of [neutron] and [service_user].

    Safe for threads and for processes.

    conf: ConfigOpts.  limit: seconds that each request has.
    clock, sleep: as time.monotonic and time.sleep.
    """

    def __init__(self, conf, limit=LIMIT, clock=time.monotonic,
                 sleep=time.sleep):
        self._adapter = ServiceAdapter(conf, 'neutron', responses.Response)
        self._service_user = (
            ServiceAdapter(conf, 'service_user')
            if conf.service_user.send_service_user_token else None)
        self._retries, self._sleep = conf.neutron.http_retries, sleep
        self._interval = conf.neutron.extension_sync_interval
        self._limit, self._clock = limit, clock

    def reader(self, context):
        """Return a Reader for one request, whose time begins to run."""
        return Reader(self, context, self._interval,
                      Deadline(self._limit, self._clock), self._clock)

    @property
    def auth(self):
        """As of ServiceAdapter: the log-in of [neutron], or None."""
        return self._adapter.auth

    def user_auth(self, token, catalog):
        """Return a plug-in that sends a user's token.

        token, catalog: of UserToken.  With it goes a token of [service_user]
        if that is asked for.  Raises ServiceUnreachable.
        """
        auth = UserToken(token, catalog)
        if self._service_user is None:
            return auth
        self._service_user.log_in()
        service_auth = self._service_user.auth
        if service_auth is None:
            _warn_of_no_service_token()
            return auth
        return service_token.ServiceTokenAuthWrapper(auth, service_auth)

    def get(self, path, request_id, deadline, auth=None):
        """Read something: a Response, whatever the status.

        path: with its query.  request_id: under which Neutron logs it.
        deadline: Deadline.  auth: plug-in, by default that of [neutron].
        Raises ServiceUnreachable.
        """
        if auth is None:
            self._adapter.log_in()
        # The connect_retries of keystoneauth1 know no deadline.
        delay = RETRY_DELAY
        for retries in range(self._retries, -1, -1):
            left = deadline.left()
            if left <= 0:
                raise ServiceUnreachable(
                    FailureReason.NO_ANSWER,
                    'Reading the networks of one request took too long')
            try:
                return self._adapter.request(
                    'GET', path, auth=auth, timeout=left, retry=False,
                    request_id=request_id)
            except ServiceUnreachable as exc:
                if not (exc.transient and retries
                        and deadline.left() > delay):
                    raise
            with turns.waiting():
                self._sleep(delay)
            delay *= 2
        raise AssertionError('the last try raises')


class Reader:
    """Reads from Neutron for one request, in one thread.

    context: the request's, whose token ports are read with.
    deadline: by when all must be read.

    All methods raise, of nova_sched.exception: Unauthorized for a token that
    Neutron does not take, NeutronAdminCredentialConfigurationInvalid for
    such a log-in of [neutron], Forbidden for what it does not show, and
    NovaException for anything else that goes wrong.
    """

    def __init__(self, neutron, context, interval, deadline, clock):
        self._neutron, self._context = neutron, context
        self._interval, self._clock = interval, clock
        self._extensions, self._read_at = None, None
        self._ports, self.deadline = {}, deadline
        self._request_id = (context.global_request_id
                            or context.request_id)

    def port(self, port_id):
        """Return the responses.Port of an id.  Raises PortNotFound, too."""
        if port_id not in self._ports:
            self._ports[port_id] = self._port(port_id)
        return self._ports[port_id]

    def segments_of_network(self, network_id):
        """Return uuids of the segments of a network's subnets: list.

        None if Neutron refuses to tell.
        """
        where = f'network {network_id}'
        query = urllib.parse.urlencode({'network_id': network_id,
                                        'fields': 'segment_id'})
        if not self.knows_segments(where):
            return []
        found = []
        while query:
            response = self._get(where, f'/v2.0/subnets?{query}')
            if response.status != _OK:
                return _refused(where, response)
            segments, query = _read(where, response, responses.segments)
            found += segments
        return found

    def segments_of_subnet(self, subnet_id):
        """Return uuids of the segment of a subnet: list of one, or of none.

        None if Neutron refuses to tell.
        """
        where = f'subnet {subnet_id}'
        if not self.knows_segments(where):
            return []
        response = self._get(where, f'/v2.0/subnets/{_quoted(subnet_id)}')
        if response.status != _OK:
            return _refused(where, response)
        return _read(where, response, responses.segment)

    def knows_segments(self, where):
        """Return whether this Neutron has segments at all.

        where: what they are asked for, as error texts name it.
        """
        now = self._clock()
        if self._read_at is None or now - self._read_at >= self._interval:
            response = self._get(where, '/v2.0/extensions')
            if response.status != _OK:
                raise _failed(where, 'the extensions of Neutron cannot be '
                              f'read: {response.error[1]}')
            self._extensions = _read(where, response, responses.extensions)
            self._read_at = now
        return _SEGMENTS in self._extensions

    def _port(self, port_id):
        where = f'port {port_id}'
        response = self._get(where, f'/v2.0/ports/{_quoted(port_id)}',
                             as_user=True)
        if response.status == _OK:
            return _read(where, response, responses.Port.of)
        kind, said = response.error
        if response.status == _NOT_FOUND and kind == 'PortNotFound':
            raise exception.PortNotFound(port_id=port_id)
        raise _failed(where, said)

    def _get(self, where, path, as_user=False):
        """Read something: a Response that is neither 401 nor 403.

        where: what it is read for, as error texts name it.
        as_user: with the caller's token, unless an administrator has none.
        """
        context = self._context
        if as_user and not context.auth_token:
            if not context.is_admin:
                raise _unauthorized(of_service=False)
            as_user = False
        try:
            auth = (self._neutron.user_auth(
                context.auth_token, context.service_catalog) if as_user
                else self._service_auth())
            response = self._neutron.get(path, self._request_id,
                                         self.deadline, auth)
        except ServiceUnreachable as exc:
            if exc.reason is FailureReason.CREDENTIALS and not as_user:
                raise _unauthorized(of_service=True) from exc
            raise _failed(where, f'{exc}. {_ADVICE[exc.reason]}') from exc
        if response.status == _UNAUTHORIZED:
            raise _unauthorized(context.is_admin or not as_user)
        if response.status == _FORBIDDEN:
            raise exception.Forbidden(reason=response.error[1])
        return response

    def _service_auth(self):
        """Return None, for the log-in of [neutron]; an error without one."""
        if self._neutron.auth is None:
            LOG.error('The [neutron] section of the configuration file must '
                      'be configured for authentication with the networking '
                      'service endpoint: %s', _LOG_IN)
            raise exception.Unauthorized(
                reason=f'Unknown auth type: None. {_LOG_IN}')


def _quoted(name):
    return urllib.parse.quote(name, safe='')


def _read(where, response, read):
    """Return what a function reads from a Response's document."""
    try:
        return read(response.document())
    except ValueError as exc:
        raise _failed(where, f'what answers there is not Neutron: {exc}. '
                      f'{_CHECK}') from exc


def _refused(where, response):
    """Log why Neutron does not tell something; return None."""
    LOG.warning('Neutron does not tell the segments of %(where)s. Got '
                '%(status)s: %(said)s', {
                    'where': where, 'status': response.status,
                    'said': response.error[1]})


def _failed(where, reason):
    return exception.NovaException(
        reason=f'Failed to access {where}: {reason}')


def _unauthorized(of_service):
    """Return the error for a missing or refused token."""
    if not of_service:
        return exception.Unauthorized(reason='Not authorized.')
    LOG.error('Neutron client was not able to generate a valid admin token, '
              'please verify Neutron admin credential located in [neutron] '
              'of the configuration file')
    return exception.NeutronAdminCredentialConfigurationInvalid()


@functools.cache
def _warn_of_no_service_token():
    LOG.warning('No token of [service_user] is sent to Neutron, although '
                'send_service_user_token asks for it: set auth_type there, '
                'and the options it needs')
