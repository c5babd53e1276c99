"""HTTP requests to the services behind Keystone, by keystoneauth1.

A section of the configuration holds the address and log-in of a service.  The
packages that send the requests interpret the responses.
"""

import contextlib
import dataclasses
import enum
import functools
import json
import os
import re
import threading
import time

from keystoneauth1 import exceptions as ks_exceptions
from keystoneauth1 import identity
from keystoneauth1 import loading
from oslo_config import cfg
from oslo_log import log as logging

from nova_sched import exception
from nova_sched import remote
from nova_sched import timed_http
from nova_sched.concurrency import turns

LOG = logging.getLogger(__name__)

#: Seconds to wait for a response if the section's timeout is unset.
DEFAULT_TIMEOUT = 30

#: Minimum seconds between two reads of the catalog because of failures.
CATALOG_INTERVAL = 10
#: Seconds to wait for each response of Keystone during such a read.
CATALOG_TIMEOUT = 5
#: Seconds for which other failed requests wait for such a read.  A healthy
#: Keystone needs less; a hung one delays only the request that reads it.
CATALOG_WAIT = 1

#: Maximum number of characters of an error's text.
_LONGEST_ERROR = 500


class FailureReason(enum.Enum):
    """Why a service has not responded."""

    NO_ENDPOINT = 'the catalog has no endpoint'
    AUTH_OPTIONS = 'auth options are missing or invalid'
    CREDENTIALS = 'Keystone refuses the credentials'
    DISCOVERY = 'no Keystone was found at auth_url'
    KEYSTONE = 'Keystone gives no token'
    KEYSTONE_TOO_LATE = 'Keystone gives no token in time'
    TLS = 'the TLS connection failed'
    OPTIONS = 'the options of the section cannot be used'
    NO_ANSWER = 'the service does not answer'
    TOO_LATE = 'the service does not answer in time'


#: The reason that replaces another one after a timeout.
_TOO_LATE = {FailureReason.NO_ANSWER: FailureReason.TOO_LATE,
             FailureReason.KEYSTONE: FailureReason.KEYSTONE_TOO_LATE}
#: Reason by exception class; the first match counts.
_REASONS = (
    (ks_exceptions.CatalogException, FailureReason.NO_ENDPOINT),
    (ks_exceptions.AuthPluginException, FailureReason.AUTH_OPTIONS),
    (ks_exceptions.Unauthorized, FailureReason.CREDENTIALS),
    (ks_exceptions.DiscoveryFailure, FailureReason.DISCOVERY),
)
#: Reasons that a changed endpoint of the service can explain.
_CHANGED_ENDPOINT = frozenset({
    FailureReason.NO_ENDPOINT, FailureReason.NO_ANSWER, FailureReason.TOO_LATE,
    FailureReason.TLS})
#: The text of keystoneauth1's TLS errors, also inside of other errors.
_NO_TLS = 'SSL exception connecting to'
#: What keystoneauth1 may raise; OSError for unreadable files.
_ERRORS = (ks_exceptions.ClientException, OSError, ValueError)


class ServiceUnreachable(exception.NovaSchedException):
    """The service has not responded.

    reason: FailureReason.  detail: text, no secrets, no trailing period.
    transient: whether a retry may succeed.
    """

    def __init__(self, reason, detail, transient=False):
        super().__init__(f'{reason.value}: {detail}')
        self.reason, self.detail = reason, detail
        self.transient = transient

    @property
    def endpoint_may_have_changed(self):
        """Whether a changed endpoint of the service can explain the failure.
        """
        return self.reason in _CHANGED_ENDPOINT


@dataclasses.dataclass(frozen=True)
class Response:
    """The response to one HTTP request.

    request_id: id in the log of the service, or None.
    retry_after: the header Retry-After, text or None.
    """

    status: int
    text: str
    request_id: str | None = None
    retry_after: str | None = None

    def document(self):
        """Return the JSON body: dict; ValueError for any other body."""
        try:
            document = json.loads(self.text)
        except RecursionError as exc:
            raise ValueError('it is nested too deeply') from exc
        if not isinstance(document, dict):
            raise ValueError(
                f'it is a {type(document).__name__}, not an object')
        return document

    @property
    def is_own_error(self):
        """Whether the body has the service's own error format."""
        return False

    @property
    def endpoint_may_have_changed(self):
        """Whether another service may have responded at an old endpoint.

        False for a 401: keystoneauth1 logs in again in any case.
        """
        if self.status < 400:
            return bool(self.text) and not re.match(r'\s*\{', self.text)
        return self.status != 401 and not self.is_own_error


class ServiceAdapter:
    """Requests to the service of one section.

    conf: ConfigOpts.  group: the section's name.  Without the option
        service_type, the section is for authentication only.
    response: class of the responses, derived from Response.

    Safe for threads and for processes: nothing is opened before the first
    request, and each process has a session of its own.
    """

    def __init__(self, conf, group, response=Response):
        self._conf, self._group, self._response = conf, group, response
        self._sessions = {}

    @property
    def timeout(self):
        """Default number of seconds to wait for a response."""
        try:
            return self._session().timeout
        except ServiceUnreachable:
            return DEFAULT_TIMEOUT

    @property
    def config_fingerprint(self):
        """Text that differs if any option of the section differs.

        For comparisons only: it contains passwords.
        """
        with contextlib.suppress(ServiceUnreachable):
            self._session()     # registers the options of the log-in
        return repr(sorted(self._conf[self._group].items()))

    @property
    def auth(self):
        """The log-in plug-in of the section; None without auth_type.

        Raises ServiceUnreachable.
        """
        return self._session().auth

    def log_in(self):
        """Get a token, if one is needed.  Raises ServiceUnreachable."""
        self._session().log_in()

    def request(self, method, path, auth=None, timeout=None, retry=True,
                request_id=None, **kwargs):
        """Send one request; return the Response with any status.

        auth: log-in plug-in, by default the section's.
        timeout: seconds to wait for a response, at most the default.
        retry: whether the section's retry options apply.
        request_id: id for the log of the service; ignored if a header cannot
            contain it.
        kwargs: see keystoneauth1.session.Session.request.
        Raises ServiceUnreachable.
        """
        session = self._session()
        timeout = min(session.timeout, timeout or session.timeout)
        if auth is None:
            with turns.waiting():
                session.log_in()
        if not retry:
            kwargs |= {'connect_retries': 0, 'status_code_retries': 0}
        if _is_header(request_id):
            kwargs['global_request_id'] = request_id
        send = functools.partial(self._send, method, path, auth=auth, **kwargs)
        limit = remote.Deadline(timeout)
        response = send(session, timeout)
        if auth is None and response.endpoint_may_have_changed:
            with turns.waiting():
                changed = self._changed_session(session)
            # Only the caller knows how to repeat a write.
            if changed and method == 'GET' and (left := limit.left()) > 0:
                response = send(changed, left)
        session.used = True
        if isinstance(response, ServiceUnreachable):
            raise response
        return response

    def _send(self, method, path, session, timeout, **kwargs):
        """Send one request; return the Response or a ServiceUnreachable."""
        try:
            with turns.waiting(), timed_http.TimeLimit(timeout).applied():
                response = session.adapter.request(path, method,
                                                   timeout=timeout, **kwargs)
        except _ERRORS as exc:
            error = _unreachable(exc, FailureReason.NO_ANSWER, timeout)
            error.__cause__ = exc
            return error
        return self._response(
            response.status_code, response.content.decode(errors='replace'),
            response.headers.get('x-openstack-request-id'),
            response.headers.get('Retry-After'))

    def _changed_session(self, session):
        """Return a Session with a changed endpoint; None if there is none.

        session: of a failed request.  The catalog is read again unless it was
            read less than CATALOG_INTERVAL ago.
        """
        if not (session.used and session.has_catalog):
            return None
        with session.reading() as may_read:
            if not may_read:
                return None
            if (self._session() is session
                    and time.monotonic() >= session.next_reading):
                self._read_catalog(session)
        current = self._session()
        if current is session or current.endpoint == session.endpoint:
            return None
        return current

    def _read_catalog(self, session):
        """Replace a Session by a new one that has read the catalog.

        The old Session stays if the log-in fails: its token may be valid.
        """
        error, new = None, None
        try:
            new = Session(self._conf, self._group)
            new.read_catalog()
        except ServiceUnreachable as exc:
            error = exc
        next_reading = time.monotonic() + CATALOG_INTERVAL
        if error is not None:
            session.next_reading = next_reading
            LOG.warning('A request to the service of [%(group)s] failed, and '
                        'the catalog could not be read again to check its '
                        'endpoint: %(error)s',
                        {'group': self._group, 'error': error})
            return
        new.next_reading = next_reading
        self._sessions[os.getpid()] = new
        if new.endpoint != session.endpoint:
            LOG.info('The endpoint of [%s] in the catalog of Keystone has '
                     'changed from %s to %s; using the new endpoint',
                     self._group, _masked(session.endpoint or 'none'),
                     _masked(new.endpoint))

    def _session(self):
        """Return this process's Session.  Raises ServiceUnreachable."""
        pid = os.getpid()
        # Without a lock, which a fork in another thread would leave held.
        # Of two sessions created at the same time, the second is dropped.
        return self._sessions.get(pid) or self._sessions.setdefault(
            pid, Session(self._conf, self._group))


class Session:
    """The keystoneauth1 session and adapter of one section and process.

    adapter: keystoneauth1.adapter.Adapter, or None without service_type.
    auth: log-in plug-in, or None without auth_type.
    timeout: seconds to wait for a response.
    used: whether any request has ended; before that, the catalog is fresh.
    next_reading: when the catalog may be read again, by time.monotonic().
    Raises ServiceUnreachable if the options of the section are wrong.
    """

    def __init__(self, conf, group):
        try:
            # Otherwise the section named by auth_section has no options.
            loading.register_auth_conf_options(conf, group)
            self.auth = loading.load_auth_from_conf_options(conf, group)
            session = loading.load_session_from_conf_options(
                conf, group, auth=self.auth, app_name='nova-sched')
            self.adapter = (
                loading.load_adapter_from_conf_options(
                    conf, group, session=session, raise_exc=False,
                    additional_headers={'Accept': 'application/json'})
                if 'service_type' in conf[group] else None)
        except (*_ERRORS, TypeError, cfg.Error) as exc:
            raise _unreachable(exc, FailureReason.OPTIONS,
                               DEFAULT_TIMEOUT) from exc
        timeout = conf[group].timeout or 0
        self.timeout = session.timeout = (
            timeout if timeout > 0 else DEFAULT_TIMEOUT)
        # One pooled connection per scheduling thread.
        for scheme in timed_http.POOLS:
            adapter = session.session.get_adapter(f'{scheme}://')
            adapter.init_poolmanager(2, conf.executor_thread_pool_size)
            adapter.poolmanager.pool_classes_by_scheme = timed_http.POOLS
        self._session, self._lock = session, threading.Lock()
        self._failures, self._failure = 0, None
        self.used, self.next_reading = False, 0.0
        self._reading = threading.Lock()

    @property
    def has_catalog(self):
        """Whether the endpoint of the service comes from the catalog."""
        return (not self.adapter.endpoint_override
                and isinstance(self.auth, identity.BaseIdentityPlugin))

    @property
    def endpoint(self):
        """The endpoint of the service in the catalog, or None."""
        try:
            return self._endpoint()
        except ServiceUnreachable:
            return None

    @contextlib.contextmanager
    def reading(self):
        """Yield whether this thread may read the catalog in a block.

        One thread may read at a time.  Others wait for it for CATALOG_WAIT.
        """
        is_held = self._reading.acquire(timeout=CATALOG_WAIT)
        try:
            yield is_held
        finally:
            if is_held:
                self._reading.release()

    def read_catalog(self):
        """Log in within CATALOG_TIMEOUT and look up the endpoint.

        Raises ServiceUnreachable.
        """
        usual = self.timeout
        self.timeout = self._session.timeout = min(usual, CATALOG_TIMEOUT)
        self.log_in()
        self.timeout = self._session.timeout = usual
        self._endpoint()

    def _endpoint(self):
        """Return the endpoint; raise ServiceUnreachable."""
        try:
            return self.adapter.get_endpoint(skip_discovery=True)
        except Exception as exc:
            # keystoneauth1 does not validate the response of Keystone.
            raise _unreachable(exc, FailureReason.NO_ENDPOINT,
                               self.timeout) from exc

    def log_in(self):
        """Get a token, if one is needed.

        Threads that wait for another thread's log-in share its failure;
        otherwise, each would time out in turn if Keystone hangs.
        Raises ServiceUnreachable.
        """
        if self.auth is None:
            return
        failures = self._failures
        with self._lock:
            if failures == self._failures:
                self._failure = None
                try:
                    with timed_http.TimeLimit(self.timeout).applied():
                        self._session.get_auth_headers()
                except Exception as exc:
                    # keystoneauth1 does not validate Keystone's response.
                    self._failure = exc
                    self._failures += 1
            failure = self._failure
        if failure is not None:
            raise _unreachable(failure, FailureReason.KEYSTONE, self.timeout)


def one_line(text):
    """Return an error's text as one line of at most 500 characters."""
    return ' '.join(str(text).split())[:_LONGEST_ERROR]


def _is_header(request_id):
    """Return whether an id is valid in a header; callers may send any value.
    """
    return (isinstance(request_id, str) and request_id != ''
            and request_id == request_id.strip()
            and request_id.isprintable() and max(request_id) <= '\xff')


def _unreachable(exc, default, timeout):
    """Return the ServiceUnreachable that explains an error."""
    reason = FailureReason.TLS if _NO_TLS in str(exc) else next(
        (reason for kind, reason in _REASONS if isinstance(exc, kind)),
        default)
    if isinstance(exc, (ks_exceptions.ConnectTimeout, TimeoutError)):
        reason = _TOO_LATE.get(reason, reason)
        detail = f'{_masked(exc)} after {timeout:g} seconds'
    elif isinstance(exc, ks_exceptions.ConnectionError):
        detail = f'{_masked(exc).partition(": ")[0]}: {_root_cause(exc)}'
    else:
        detail = _masked(exc)
    return ServiceUnreachable(
        reason, detail.rstrip('.'),
        isinstance(exc, (ks_exceptions.RetriableConnectionFailure,
                         TimeoutError)))


def _masked(exc):
    """Return an error's text without URL queries and passwords."""
    text = ' '.join(str(exc).split()) or type(exc).__name__
    text = re.sub(r'://[^\s/?]*@', '://***@', text)
    return re.sub(r'\?[^\s:]*', '', text)


def _root_cause(exc):
    """Return the system's error text for a failed connection.

    The chain of contexts may lead to an error of another request, which is
    not the cause.
    """
    while (inner := exc.__cause__ or exc.__context__) and not isinstance(
            inner, exception.NovaSchedException):
        exc = inner
    return _masked(exc)
