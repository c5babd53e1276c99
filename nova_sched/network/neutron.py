"""What Neutron tells the scheduler of ports, subnets and segments.

Paths and names of fields: Neutron's API reference, v2.0.
"""

import time
import urllib.parse

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.network import responses
from nova_sched.network.user_token import Access
from nova_sched.network.user_token import Deadline
from nova_sched.service_adapter import NoAnswer
from nova_sched.service_adapter import Why

LOG = logging.getLogger(__name__)

#: Seconds that Neutron and Placement have to tell of the networks of one
#: request: less than the shortest time for which callers wait for an answer.
LIMIT = 45

_SEGMENTS = 'segment'
_ANSWERED, _UNAUTHORIZED, _FORBIDDEN, _NOT_THERE = 200, 401, 403, 404
_CHECK = ("Check that Neutron runs, and its endpoint in Keystone's catalog or "
          '[neutron] endpoint_override')
_LOG_IN = 'Check [neutron] auth_type and the options that it needs'
#: What the operator can do where there is no answer.
_ADVICE = {
    Why.ENDPOINT: "Add an endpoint of service type network to Keystone's "
                  'catalog for the region and interfaces of [neutron], or '
                  'set its endpoint_override',
    Why.NO_LOGIN: _LOG_IN,
    Why.CREDENTIALS: 'Check the credentials of [neutron] and [service_user]',
    Why.DISCOVERY: 'Check auth_url in [neutron] and [service_user]',
    Why.KEYSTONE: 'Check that Keystone runs, and auth_url in [neutron] and '
                  '[service_user]',
    Why.OPTIONS: 'Correct the options of [neutron] and [service_user], and '
                 'restart',
    Why.SILENT: _CHECK,
}


class Neutron:
    """The Neutron of [neutron]; safe for threads and for processes.

    conf: ConfigOpts.  limit: seconds that each request has.
    clock, sleep: as time.monotonic and time.sleep.
    """

    def __init__(self, conf, limit=LIMIT, clock=time.monotonic,
                 sleep=time.sleep):
        self._access = Access(conf, sleep)
        self._interval = conf.neutron.extension_sync_interval
        self._limit, self._clock = limit, clock

    def asked_by(self, context):
        """A Reader for one request, whose time begins to run."""
        return Reader(self._access, context, self._interval,
                      Deadline(self._limit, self._clock), self._clock)


class Reader:
    """Reads of Neutron for one request, in one thread.

    context: the request's, whose token ports are read with.
    deadline: by when all must be read.

    All methods raise, of nova_sched.exception: Unauthorized for a token that
    Neutron does not take, NeutronAdminCredentialConfigurationInvalid for
    such a log-in of [neutron], Forbidden for what it does not show, and
    NovaException for anything else that goes wrong.
    """

    def __init__(self, access, context, interval, deadline, clock):
        self._access, self._context = access, context
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
        """Uuids of the segments of a network's subnets: list.

        None if Neutron refuses to tell.
        """
        where = f'network {network_id}'
        query = urllib.parse.urlencode({'network_id': network_id,
                                        'fields': 'segment_id'})
        if not self.knows_segments(where):
            return []
        found = []
        while query:
            answer = self._get(where, f'/v2.0/subnets?{query}')
            if answer.status != _ANSWERED:
                return _refused(where, answer)
            segments, query = _read(where, answer, responses.segments)
            found += segments
        return found

    def segments_of_subnet(self, subnet_id):
        """Uuids of the segment of a subnet: list of one, or of none.

        None if Neutron refuses to tell.
        """
        where = f'subnet {subnet_id}'
        if not self.knows_segments(where):
            return []
        answer = self._get(where, f'/v2.0/subnets/{_quoted(subnet_id)}')
        if answer.status != _ANSWERED:
            return _refused(where, answer)
        return _read(where, answer, responses.segment)

    def knows_segments(self, where):
        """Whether this Neutron has segments at all.

        where: what they are asked for, as error texts name it.
        """
        now = self._clock()
        if self._read_at is None or now - self._read_at >= self._interval:
            answer = self._get(where, '/v2.0/extensions')
            if answer.status != _ANSWERED:
                raise _failed(where, 'the extensions of Neutron cannot be '
                              f'read: {answer.error[1]}')
            self._extensions = _read(where, answer, responses.extensions)
            self._read_at = now
        return _SEGMENTS in self._extensions

    def _port(self, port_id):
        where = f'port {port_id}'
        answer = self._get(where, f'/v2.0/ports/{_quoted(port_id)}',
                           as_user=True)
        if answer.status == _ANSWERED:
            return _read(where, answer, responses.Port.of)
        kind, said = answer.error
        if answer.status == _NOT_THERE and kind == 'PortNotFound':
            raise exception.PortNotFound(port_id=port_id)
        raise _failed(where, said)

    def _get(self, where, path, as_user=False):
        """Read something: an Answer that is neither 401 nor 403.

        where: what it is read for, as error texts name it.
        as_user: with the caller's token, unless an administrator has none.
        """
        context = self._context
        if as_user and not context.auth_token:
            if not context.is_admin:
                raise _unauthorized(of_service=False)
            as_user = False
        try:
            answer = (self._as_user(path) if as_user
                      else self._as_service(path))
        except NoAnswer as exc:
            if exc.why is Why.CREDENTIALS and not as_user:
                raise _unauthorized(of_service=True) from exc
            raise _failed(where, f'{exc}. {_ADVICE[exc.why]}') from exc
        if answer.status == _UNAUTHORIZED:
            raise _unauthorized(context.is_admin or not as_user)
        if answer.status == _FORBIDDEN:
            raise exception.Forbidden(reason=answer.error[1])
        return answer

    def _as_user(self, path):
        context = self._context
        return self._access.get_as_user(
            path, self._request_id, self.deadline, context.auth_token,
            context.service_catalog)

    def _as_service(self, path):
        if not self._access.has_log_in():
            LOG.error('The [neutron] section of the configuration file must '
                      'be configured for authentication with the networking '
                      'service endpoint: %s', _LOG_IN)
            raise exception.Unauthorized(
                reason=f'Unknown auth type: None. {_LOG_IN}')
        return self._access.get_as_service(path, self._request_id,
                                           self.deadline)


def _quoted(name):
    return urllib.parse.quote(name, safe='')


def _read(where, answer, read):
    """What a function reads from an Answer's document."""
    try:
        return read(answer.document())
    except ValueError as exc:
        raise _failed(where, f'what answers there is not Neutron: {exc}. '
                      f'{_CHECK}') from exc


def _refused(where, answer):
    """None, for what Neutron refuses to tell; the log says why."""
    LOG.warning('Neutron does not tell the segments of %(where)s. Got '
                '%(status)s: %(said)s', {
                    'where': where, 'status': answer.status,
                    'said': answer.error[1]})


def _failed(where, reason):
    return exception.NovaException(
        reason=f'Failed to access {where}: {reason}')


def _unauthorized(of_service):
    """The error for a token that is none, or is not taken."""
    if not of_service:
        return exception.Unauthorized(reason='Not authorized.')
    LOG.error('Neutron client was not able to generate a valid admin token, '
              'please verify Neutron admin credential located in [neutron] '
              'of the configuration file')
    return exception.NeutronAdminCredentialConfigurationInvalid()
