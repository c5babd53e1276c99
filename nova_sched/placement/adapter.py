"""Requests to Placement: responses, failures and retry limits."""

import functools
import itertools
import time

from oslo_log import log as logging
from urllib3 import exceptions as urllib3_exceptions
from urllib3 import util

from nova_sched import exception
from nova_sched import remote
from nova_sched import service_adapter
from nova_sched import toml_files
from nova_sched.concurrency import turns
from nova_sched.placement import documents
from nova_sched.service_adapter import FailureReason

LOG = logging.getLogger(__name__)

#: Seconds for a response after a failure, and for releasing claims.
#: Placement normally needs milliseconds.
SHORT_TIMEOUT = 10
#: Number of consecutive failures after which no request is sent.
MAX_FAILURES = 3
#: Seconds up to which a request does not count as waiting: many instances
#: need many requests, even of a healthy Placement.
QUICK = 1
#: Seconds after which an exhausted budget can be renewed.
RENEWAL_PAUSE = 1

#: Statuses of a service user without the role and of too many requests.
#: They do not depend on the request.
REFUSES_ALL = FORBIDDEN, TOO_MANY = 403, 429

#: Every REPEAT-th warning about a lasting failure is logged.
REPEAT = 11

_TABLE = toml_files.read('advice.toml', __package__)
#: By the name of a reason: the failure, and advice for the operator; advice
#: also by HTTP status.
_FAILURES, _ADVICE = _TABLE['failures'], _TABLE['advice']
#: Reasons that last until an operator acts.
_LASTING = set(FailureReason) - {
    FailureReason.NO_ANSWER, FailureReason.TOO_LATE, FailureReason.KEYSTONE,
    FailureReason.KEYSTONE_TOO_LATE}


class Response(service_adapter.Response):
    """A response of Placement, or of another service in its place."""

    @property
    def _error(self):
        """The first error in the body: dict."""
        try:
            error, *_ = self.document()['errors']
            return dict(error)
        except (ValueError, KeyError, TypeError):
            return {}

    @property
    def is_own_error(self):
        """See service_adapter.Response.is_own_error."""
        return bool(self._error)

    @property
    def error_code(self):
        """Placement's error code (from microversion 1.23), text or None."""
        return self._error.get('code')

    @property
    def error_text(self):
        """The error's text, one line of at most 500 characters."""
        return service_adapter.one_line(
            self._error.get('detail') or self.text).rstrip('.')

    @property
    def advice(self):
        """Advice for the operator, a sentence."""
        if self.status < 400:
            return _ADVICE['NOT_PLACEMENT']
        if self.status == 400 and not self.is_own_error and (
                'HTTPS' in self.text):
            return _ADVICE['NOT_HTTP']
        return _ADVICE.get(str(self.status), _ADVICE['ANY_ERROR'])

    def read(self, understand, failure):
        """Return the result of a function of the document, a dict.

        understand: the function; raises ValueError for an invalid document.
        failure: description of the failure, a sentence.
        Raises RequestFailed for another status than 200, and for an invalid
        document.
        """
        problem = None
        if self.status == 200:
            try:
                return understand(self.document())
            except documents.INVALID_DOCUMENT as exc:
                problem = documents.problem(exc)
        raise RequestFailed(failure, self, problem)


class RequestFailed(exception.PlacementError):
    """Placement does not serve a request.

    what: description of the failure, a sentence.  response: Response.
    problem: with the response, if its text does not name it.

    status: HTTP status.
    """

    def __init__(self, what, response, problem=None):
        self.status = response.status
        super().__init__(
            f'{what} Got {response.status}: '
            f'{problem or response.error_text or "nothing"}. '
            f'{response.advice}')


class PlacementUnreachable(exception.PlacementError):
    """Placement has not responded; the text has the reason and advice.

    reason: service_adapter.FailureReason.
    """

    def __init__(self, reason, detail):
        self.reason = reason
        super().__init__(
            f'{_FAILURES[reason.name]} {detail}. {_ADVICE[reason.name]}')


class PlacementAdapter(service_adapter.ServiceAdapter):
    """Requests to Placement, as the service user of [placement]."""

    def __init__(self, conf):
        super().__init__(conf, 'placement', Response)
        self._microversions = None
        #: Contact with Placement.
        self.contact = remote.Contact()
        self._repeats = {reason: itertools.count() for reason in _LASTING}

    def request(self, method, path, microversion=None, request_id=None,
                body=None, **kwargs):
        """Send one request; return the Response with any status but 401.

        microversion: None for the oldest one.
        body: sent as JSON.
        request_id, kwargs: see ServiceAdapter.request.
        Raises PlacementUnreachable, which is logged.
        """
        if microversion:
            kwargs |= {'microversion': microversion,
                       'microversion_service_type': 'placement'}
        send = functools.partial(
            super().request, method, path, request_id=request_id, json=body,
            **kwargs)
        begin = time.monotonic()
        try:
            response = send()
            if response.status == TOO_MANY:
                response = self._sent_again(
                    response, send,
                    begin + (kwargs.get('timeout') or self.timeout))
            if response.status == 401:
                raise service_adapter.ServiceUnreachable(
                    FailureReason.CREDENTIALS,
                    f'It responded with 401: {response.error_text}')
        except service_adapter.ServiceUnreachable as exc:
            unreachable = PlacementUnreachable(exc.reason, exc.detail)
            unreachable.__cause__ = exc
        else:
            if response.status == 406:
                self._microversions = None
            if response.status >= 500:
                self.contact.failed(f'It responds with {response.status}')
            else:
                self.contact.answered()
            return response
        self.contact.failed(unreachable)
        # Placement may be upgraded or downgraded in the meantime.
        self._microversions = None
        repeats = self._repeats.get(unreachable.reason)
        if repeats is None or next(repeats) % REPEAT == 0:
            LOG.warning('%s', unreachable)
        raise unreachable

    def _sent_again(self, response, send, end):
        """Repeat a request that was sent too soon; return its Response.

        It is sent again when the Response allows, if that is before the end.
        """
        while response.status == TOO_MANY:
            try:
                pause = util.Retry().parse_retry_after(response.retry_after)
            except (TypeError, urllib3_exceptions.InvalidHeader):
                break
            if time.monotonic() + pause >= end:
                break
            with turns.waiting():
                time.sleep(pause)
            response = send()
        return response

    def microversions(self):
        """Return the MicroversionRange of the server.

        Read once, and again after a lost connection or a 406.
        Raises PlacementUnreachable, or RequestFailed if the response is not
        Placement's.
        """
        versions = self._microversions
        if versions is None:
            versions = self._microversions = self.request('GET', '/').read(
                documents.MicroversionRange.of, _FAILURES['DISCOVERY'])
        return versions


class RetriesExhausted(exception.PlacementError):
    """No more requests to Placement are sent for one request."""


class RetryBudget:
    """A limited number and time of requests to Placement for one request.

    No request is sent after MAX_FAILURES failures since the last write with a
    response below status 500 (reads may work while writes hang), nor after
    2 x [placement] timeout + 30 seconds in slow requests (30 seconds for
    releases).

    adapter: PlacementAdapter.  request_id: text or None.
    releasing: True for a budget to release claims, with short timeouts and
        many attempts, see ``renew``.
    """

    def __init__(self, adapter, request_id, releasing=False,
                 clock=time.monotonic):
        self._adapter, self._request_id = adapter, request_id
        self._releasing, self._clock = releasing, clock
        self._failures, self._waited, self._exhausted_at = 0, 0, None

    @property
    def exhausted(self):
        """Whether no more requests are sent."""
        return self._exhausted_at is not None

    @property
    def timeout(self):
        """Seconds for the response to the next request."""
        usual = self._adapter.timeout
        return (min(SHORT_TIMEOUT, usual)
                if self._releasing or self._failures else usual)

    def renew(self):
        """Allow one more request, and others if it works.

        It has no effect until RENEWAL_PAUSE seconds after exhaustion.
        """
        if self.exhausted and (
                self._clock() >= self._exhausted_at + RENEWAL_PAUSE):
            self._exhausted_at, self._waited = None, 0
            # Reads may work again before writes do.
            self._failures = min(self._failures, MAX_FAILURES - 1)

    def request(self, method, path, microversion=None, **kwargs):
        """Call PlacementAdapter.request; may also raise RetriesExhausted."""
        if self.exhausted:
            raise RetriesExhausted(self._reason())
        begin, failed = self._clock(), True
        is_short = self._releasing or self._failures
        try:
            response = self._adapter.request(
                method, path, microversion, request_id=self._request_id,
                timeout=SHORT_TIMEOUT if is_short else None, **kwargs)
            failed = response.status >= 500
            return response
        finally:
            took = self._clock() - begin
            if took > QUICK:
                self._waited += took
            if failed:
                self._failures += 1
            elif method != 'GET':
                self._failures = 0
            longest = (MAX_FAILURES * SHORT_TIMEOUT if self._releasing
                       else 2 * self._adapter.timeout + 30)
            if self._failures >= MAX_FAILURES or self._waited >= longest:
                self._exhausted_at = self._clock()
                # The caller of a release logs the remaining claims.
                if not self._releasing:
                    LOG.error('%s', self._reason())

    def _reason(self):
        if self._releasing:
            return 'Placement fails; the next attempt follows a pause'
        if self._failures >= MAX_FAILURES:
            return (f'Placement has failed {self._failures} times in a row '
                    'and is not queried again for this request')
        return (f'This request has waited {self._waited:.0f} seconds for '
                'Placement, which is not queried again for it')
