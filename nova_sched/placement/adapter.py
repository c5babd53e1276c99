"""The way to Placement: endpoint, log-in and connections, by [placement]."""

import itertools

from oslo_log import log as logging

from nova_sched import exception
from nova_sched import service_adapter
from nova_sched.placement import answers
from nova_sched.placement import microversions
from nova_sched.service_adapter import Why

LOG = logging.getLogger(__name__)

GROUP = 'placement'
#: Of the warnings that repeat while nobody acts, one in so many is logged.
REPEAT = 11

#: What is said, and what to do, where there is no answer.
_MEANING = {
    Why.ENDPOINT: (
        'The placement API endpoint was not found.',
        "Add an endpoint of service type placement to Keystone's catalog "
        'for the region and interfaces of [placement], or set its '
        'endpoint_override'),
    Why.NO_LOGIN: (
        'No authentication information found for placement API.',
        'Set [placement] auth_type and the options that it needs'),
    Why.CREDENTIALS: (
        'Placement service credentials do not work.',
        'Check user, password and project in [placement]'),
    Why.DISCOVERY: (
        'Discovering suitable URL for placement API failed.',
        'Check [placement] auth_url and the endpoint of Placement'),
    Why.SILENT: (
        'Placement API service is not responding.',
        "Check that it runs, and its endpoint in Keystone's catalog or "
        '[placement] endpoint_override'),
    Why.KEYSTONE: (
        'Keystone gives no token for placement API.',
        'Check that it runs, and [placement] auth_url'),
    Why.OPTIONS: (
        'The options of [placement] cannot be used.',
        'Correct them and restart'),
}
#: What stays so until somebody acts.
_LASTING = set(Why) - {Why.SILENT, Why.KEYSTONE}
_ONCE = {'connect_retries': 0, 'status_code_retries': 0}


class Unreachable(exception.PlacementError):
    """There was no answer; the text says why, and what to do."""

    def __init__(self, why, detail):
        self.why = why
        what, advice = _MEANING[why]
        super().__init__(f'{what} {detail}. {advice}')


class Connection:
    """Sends requests to Placement, as the service user of [placement].

    Safe for threads and for processes: nothing is opened before the first
    request, and each process that uses it opens its own.
    """

    def __init__(self, conf):
        self._links = service_adapter.Links(conf, GROUP)
        self._spoken = None
        self._repeats = {why: itertools.count() for why in _LASTING}

    @property
    def timeout(self):
        """Seconds that an answer is waited for, unless others are named."""
        try:
            return self._links.get().timeout
        except service_adapter.NoAnswer:
            return service_adapter.TIMEOUT

    def ask(self, method, path, version=None, request_id=None, body=None,
            patience=None, again=True):
        """Send one request: answers.Answer, whatever the status but 401.

        version: microversion; without one, that of the oldest clients.
        request_id: under which Placement logs the request, if it can be sent
            as a header.
        body: what is sent as JSON.  patience: seconds to wait for an answer
            if not as long as [placement] timeout.
        again: False not to repeat it, whatever [placement] says.

        Raises Unreachable, which is logged.
        """
        try:
            return self._ask(method, path, {
                'headers': _headers(version, request_id), 'json': body,
                **({} if again else _ONCE)}, patience)
        except Unreachable as exc:
            unreachable = exc
        # When it is back it may be an older or a newer one.
        self._spoken = None
        repeats = self._repeats.get(unreachable.why)
        if repeats is None or next(repeats) % REPEAT == 0:
            LOG.warning('%s', unreachable)
        raise unreachable

    def spoken(self):
        """What it speaks: microversions.Spoken.

        Asked once, and again after a lost connection or a 406.
        Raises Unreachable, or answers.Refused for something else's answer.
        """
        spoken = self._spoken
        if spoken is None:
            answer, problem = self.ask('GET', '/'), None
            try:
                if answer.status == 200:
                    spoken = microversions.Spoken.of(answer.document())
            except ValueError as exc:
                problem = exc
            if spoken is None:
                raise answers.Refused(_MEANING[Why.DISCOVERY][0], answer,
                                      problem)
            self._spoken = spoken
        return spoken

    def _ask(self, method, path, kwargs, patience):
        try:
            link = self._links.get()
            link.log_in()
            response = link.send(
                method, path, min(link.timeout, patience or link.timeout),
                **kwargs)
        except service_adapter.NoAnswer as exc:
            if exc.why is Why.ENDPOINT:
                self._links.drop()
            raise Unreachable(exc.why, exc.detail) from exc
        answer = answers.Answer(
            response.status_code, response.content.decode(errors='replace'),
            response.headers.get('x-openstack-request-id'))
        if answer.status == 401:
            raise Unreachable(Why.CREDENTIALS,
                              f'It answered 401: {answer.words}')
        if answer.status == 406:
            self._spoken = None
        return answer


def _headers(version, request_id):
    headers = {'Accept': 'application/json'}
    if version:
        headers['OpenStack-API-Version'] = f'placement {version}'
    if _can_be_sent(request_id):
        headers['X-Openstack-Request-Id'] = request_id
    return headers


def _can_be_sent(request_id):
    """Whether a header can be this id; callers may send anything."""
    return (isinstance(request_id, str) and request_id != ''
            and request_id == request_id.strip()
            and request_id.isprintable() and max(request_id) <= '\xff')
