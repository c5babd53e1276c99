"""Reading ports, subnets and segments from Neutron.

Paths and field names: Neutron's API reference, v2.0.
"""

import functools
import itertools
import time
import urllib.parse

from keystoneauth1 import service_token
from oslo_log import log as logging

from nova_sched import exception
from nova_sched import toml_files
from nova_sched.concurrency import turns
from nova_sched.network import responses
from nova_sched.network.user_token import UserToken
from nova_sched.remote import Deadline
from nova_sched.service_adapter import FailureReason
from nova_sched.service_adapter import ServiceAdapter
from nova_sched.service_adapter import ServiceUnreachable

LOG = logging.getLogger(__name__)

#: Seconds for reading the networks of one request from Neutron and Placement:
#: less than the shortest timeout of callers.
LIMIT = 45

#: Seconds before the first retry; each further one waits twice as long.
RETRY_DELAY = 0.5

_SEGMENTS = 'segment'
_OK, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND = 200, 401, 403, 404
#: Advice for the operator, by the name of a failure's reason.
_ADVICE = toml_files.read('advice.toml', __package__)


class Neutron:
    """A client of Neutron, as configured in [neutron] and [service_user].

    Thread-safe, and usable after a fork.

    conf: ConfigOpts.  limit: seconds for each request.
    clock, sleep: as time.monotonic and time.sleep.

    interval: seconds after which Neutron's extensions are read again.
    """

    def __init__(self, conf, limit=LIMIT, clock=time.monotonic,
                 sleep=time.sleep):
        self._adapter = ServiceAdapter(conf, 'neutron', responses.Response)
        self._service_user = (
            ServiceAdapter(conf, 'service_user')
            if conf.service_user.send_service_user_token else None)
        self._retries, self._sleep = conf.neutron.http_retries, sleep
        self.interval = conf.neutron.extension_sync_interval
        self._limit, self.clock = limit, clock

    def reader(self, context):
        """Return a Reader for one request; its deadline starts now."""
        return Reader(self, context, Deadline(self._limit, self.clock))

    @property
    def auth(self):
        """The auth plug-in of [neutron], or None."""
        return self._adapter.auth

    def user_auth(self, token, catalog):
        """Return an auth plug-in that sends a user's token.

        token, catalog: see UserToken.  Adds a token of [service_user] if
            configured.
        Raises ServiceUnreachable.
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
        """Return the Response to a GET request, with any status.

        path: with its query.  request_id: for Neutron's log.
        deadline: Deadline.  auth: plug-in, by default that of [neutron].
        Raises ServiceUnreachable.
        """
        if auth is None:
            self._adapter.log_in()
        # The connect_retries of keystoneauth1 have no deadline.
        for attempt in itertools.count():
            seconds = deadline.left()
            if seconds <= 0:
                raise ServiceUnreachable(
                    FailureReason.NO_ANSWER,
                    'Reading the networks of one request took too long')
            try:
                return self._adapter.request(
                    'GET', path, auth=auth, timeout=seconds, retry=False,
                    request_id=request_id)
            except ServiceUnreachable as exc:
                delay = RETRY_DELAY * 2 ** attempt
                if not (exc.transient and attempt < self._retries
                        and deadline.left() > delay):
                    raise
            with turns.waiting():
                self._sleep(delay)


class Reader:
    """Reads from Neutron for one request, in one thread.

    context: of the request; its token is used to read ports.
    deadline: for all reads together.

    All methods raise exceptions of nova_sched.exception: Unauthorized if
    Neutron rejects the user's token,
    NeutronAdminCredentialConfigurationInvalid if it rejects the credentials of
    [neutron], Forbidden if its policy forbids the read, and NovaException for
    other errors.
    """

    def __init__(self, neutron, context, deadline):
        self._neutron, self._context = neutron, context
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

        None if Neutron returns an error.
        """
        where = f'network {network_id}'
        query = urllib.parse.urlencode({'network_id': network_id,
                                        'fields': 'segment_id'})
        if not self.knows_segments(where):
            return []
        uuids = []
        while query:
            response = self._get(where, f'/v2.0/subnets?{query}')
            if response.status != _OK:
                return _refused(where, response)
            segments, query = _read(where, response, responses.segments_page)
            uuids += segments
        return uuids

    def segments_of_subnet(self, subnet_id):
        """Return the uuid of a subnet's segment: list of at most one.

        None if Neutron returns an error.
        """
        where = f'subnet {subnet_id}'
        if not self.knows_segments(where):
            return []
        response = self._get(where, f'/v2.0/subnets/{_quoted(subnet_id)}')
        if response.status != _OK:
            return _refused(where, response)
        return _read(where, response, responses.subnet_segments)

    def knows_segments(self, where):
        """Return whether this Neutron has the extension for segments.

        where: resource that is read, as named in error texts.
        """
        now = self._neutron.clock()
        if self._read_at is None or (
                now - self._read_at >= self._neutron.interval):
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
            return _read(where, response, responses.Port.from_document)
        kind, text = response.error
        if response.status == _NOT_FOUND and kind == 'PortNotFound':
            raise exception.PortNotFound(port_id=port_id)
        raise _failed(where, text)

    def _get(self, where, path, as_user=False):
        """Return the Response to a GET request; raises for 401 and 403.

        where: resource that is read, as named in error texts.
        as_user: whether to send the caller's token; without a token, an
            administrator's request uses the credentials of [neutron].
        """
        context = self._context
        if as_user and not context.auth_token:
            if not context.is_admin:
                raise _unauthorized(of_service=False)
            as_user = False
        try:
            auth = None
            if as_user:
                auth = self._neutron.user_auth(context.auth_token,
                                               context.service_catalog)
            elif self._neutron.auth is None:
                raise _no_credentials()
            response = self._neutron.get(path, self._request_id,
                                         self.deadline, auth)
        except ServiceUnreachable as exc:
            if exc.reason is FailureReason.CREDENTIALS and not as_user:
                raise _unauthorized(of_service=True) from exc
            raise _failed(where, f'{exc}. {_ADVICE[exc.reason.name]}') from exc
        if response.status == _UNAUTHORIZED:
            raise _unauthorized(context.is_admin or not as_user)
        if response.status == _FORBIDDEN:
            raise exception.Forbidden(reason=response.error[1])
        return response


def _quoted(name):
    return urllib.parse.quote(name, safe='')


def _read(where, response, read):
    """Return ``read`` of a Response's document."""
    try:
        return response.read(read)
    except ValueError as exc:
        raise _failed(where, f'what answers there is not Neutron: {exc}. '
                      f'{_ADVICE["NO_ANSWER"]}') from exc


def _refused(where, response):
    """Log an error of Neutron; return None."""
    LOG.warning('Cannot read the segments of %(where)s from Neutron. Got '
                '%(status)s: %(text)s', {
                    'where': where, 'status': response.status,
                    'text': response.error[1]})


def _failed(where, reason):
    return exception.NovaException(
        reason=f'Failed to access {where}: {reason}')


def _no_credentials():
    """Return the error for a [neutron] section without credentials."""
    advice = _ADVICE['AUTH_OPTIONS']
    LOG.error('The [neutron] section of the configuration file must be '
              'configured for authentication with the networking service '
              'endpoint: %s', advice)
    return exception.Unauthorized(reason=f'Unknown auth type: None. {advice}')


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
                'send_service_user_token is true: set auth_type there, and '
                'the options it needs')
