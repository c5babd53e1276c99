"""HTTP requests to the services behind Keystone, by keystoneauth1.

Sections of the configuration say where a service is and how to log in.  What
an answer means is up to the rooms that ask.
"""

import contextlib
import dataclasses
import enum
import json
import os
import re
import threading

from keystoneauth1 import exceptions as ks_exceptions
from keystoneauth1 import loading
from oslo_config import cfg

from nova_sched import exception
from nova_sched import turns

#: Seconds to wait for an answer where the section's timeout is unset.
DEFAULT_TIMEOUT = 30

#: Characters of an error's text that are passed on.
_LONGEST_ERROR = 500


class FailureReason(enum.Enum):
    """Why there was no answer."""

    NO_ENDPOINT = 'the catalog has no endpoint'
    AUTH_OPTIONS = 'the options of the log-in are missing or wrong'
    CREDENTIALS = 'Keystone refuses the credentials'
    DISCOVERY = 'Keystone is not where it should be'
    KEYSTONE = 'Keystone gives no token'
    KEYSTONE_TOO_LATE = 'Keystone gives no token in time'
    OPTIONS = 'the options of the section cannot be used'
    NO_ANSWER = 'the service does not answer'
    TOO_LATE = 'the service does not answer in time'


#: What a reason is where it is that an answer takes too long.
_TOO_LATE = {FailureReason.NO_ANSWER: FailureReason.TOO_LATE,
             FailureReason.KEYSTONE: FailureReason.KEYSTONE_TOO_LATE}
#: The reason by kind of error; the first that fits counts.
_REASONS = (
    (ks_exceptions.CatalogException, FailureReason.NO_ENDPOINT),
    (ks_exceptions.AuthPluginException, FailureReason.AUTH_OPTIONS),
    (ks_exceptions.Unauthorized, FailureReason.CREDENTIALS),
    (ks_exceptions.DiscoveryFailure, FailureReason.DISCOVERY),
)
#: What keystoneauth1 lets through; OSError for files that cannot be read.
_ERRORS = (ks_exceptions.ClientException, OSError, ValueError)


class ServiceUnreachable(exception.NovaSchedException):
    """There was no answer.

    reason: FailureReason.  detail: what exactly, without secrets or a full
    stop.  transient: whether another try may work.
    """

    def __init__(self, reason, detail, transient=False):
        super().__init__(f'{reason.value}: {detail}')
        self.reason, self.detail = reason, detail
        self.transient = transient


@dataclasses.dataclass(frozen=True)
class Response:
    """The answer to one HTTP request.

    request_id: of the service, which its log names, or None.
    """

    status: int
    text: str
    request_id: str | None = None

    def document(self):
        """Return the body as JSON: a dict; ValueError if it is none."""
        try:
            found = json.loads(self.text)
        except RecursionError as exc:
            raise ValueError('it is nested too deeply') from exc
        if not isinstance(found, dict):
            raise ValueError(f'it is a {type(found).__name__}, not an object')
        return found


class ServiceAdapter:
    """Requests to the service of one section, or a log-in without one.

    conf: ConfigOpts.  group: the section's name; without the option
        service_type nothing can be sent.
    response: the class of the answers, derived from Response.

    Safe for threads and for processes: nothing is opened before the first
    request, and each process has a session of its own.
    """

    def __init__(self, conf, group, response=Response):
        self._conf, self._group, self._response = conf, group, response
        self._sessions = {}

    @property
    def timeout(self):
        """Seconds that an answer is waited for, unless others are named."""
        try:
            return self._session().timeout
        except ServiceUnreachable:
            return DEFAULT_TIMEOUT

    @property
    def identity(self):
        """What tells apart services of other options, a text.

        It has passwords in it.
        """
        with contextlib.suppress(ServiceUnreachable):
            self._session()     # which registers the options of its log-in
        return repr(sorted(self._conf[self._group].items()))

    @property
    def auth(self):
        """The log-in of the section: a plug-in, or None without auth_type.

        Raises ServiceUnreachable.
        """
        return self._session().auth

    def log_in(self):
        """Get a token, if one is needed.  Raises ServiceUnreachable."""
        self._session().log_in()

    def request(self, method, path, auth=None, timeout=None, retry=True,
                request_id=None, **kwargs):
        """Send one request; return the Response, whatever its status.

        auth: plug-in of another log-in than the section's.
        timeout: seconds to wait for an answer, at most as many as usual.
        retry: whether the section's options of retries count.
        request_id: the id under which the service logs the request; left out
            if it cannot be a header.
        kwargs: as of keystoneauth1.session.Session.request.
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
        try:
            with turns.waiting():
                answer = session.adapter.request(path, method, auth=auth,
                                                 timeout=timeout, **kwargs)
        except _ERRORS as exc:
            error = _unreachable(exc, FailureReason.NO_ANSWER, timeout)
            if error.reason is FailureReason.NO_ENDPOINT and auth is None:
                # The catalog came with the token: log in anew the next time.
                self._sessions.pop(os.getpid(), None)
            raise error from exc
        return self._response(
            answer.status_code, answer.content.decode(errors='replace'),
            answer.headers.get('x-openstack-request-id'))

    def _session(self):
        """Return this process's Session.  Raises ServiceUnreachable."""
        pid = os.getpid()
        # Without a lock: a fork in another thread would leave it held. Of
        # two that are made at the same time one is dropped unused.
        return self._sessions.get(pid) or self._sessions.setdefault(
            pid, Session(self._conf, self._group))


class Session:
    """The keystoneauth1 session and adapter of one section and process.

    adapter: keystoneauth1.adapter.Adapter, or None without service_type.
    auth: plug-in of the log-in, or None where auth_type is unset.
    timeout: seconds to wait for an answer.
    Raises ServiceUnreachable when the options of the section are wrong.
    """

    def __init__(self, conf, group):
        try:
            # The section that auth_section names has no options otherwise.
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
        # One connection for each thread that may be deciding.
        for scheme in ('http://', 'https://'):
            session.session.get_adapter(scheme).init_poolmanager(
                2, conf.executor_thread_pool_size)
        self._session, self._lock = session, threading.Lock()
        self._failures, self._failure = 0, None

    def log_in(self):
        """Get a token, if one is needed.

        Threads that wait for another's log-in share its failure: with a
        Keystone that hangs, one after the other would wait for ever.
        Raises ServiceUnreachable.
        """
        if self.auth is None:
            return
        failures = self._failures
        with self._lock:
            if failures == self._failures:
                self._failure = self._try_log_in()
                self._failures += self._failure is not None
            failure = self._failure
        if failure is not None:
            raise _unreachable(failure, FailureReason.KEYSTONE, self.timeout)

    def _try_log_in(self):
        """Return what a log-in fails with, or None."""
        try:
            self._session.get_auth_headers()
            return None
        except Exception as exc:
            # keystoneauth1 does not check what Keystone answers.
            return exc


def one_line(text):
    """Return an error's text as one line of at most 500 characters."""
    return ' '.join(str(text).split())[:_LONGEST_ERROR]


def _is_header(request_id):
    """Return whether an id can be sent in a header; callers may name any."""
    return (isinstance(request_id, str) and request_id != ''
            and request_id == request_id.strip()
            and request_id.isprintable() and max(request_id) <= '\xff')


def _unreachable(exc, default, timeout):
    """Return the ServiceUnreachable that says what an error means."""
    reason = next((reason for kind, reason in _REASONS
                   if isinstance(exc, kind)), default)
    if isinstance(exc, ks_exceptions.ConnectTimeout):
        reason = _TOO_LATE.get(reason, reason)
        detail = f'{_masked(exc)} after {timeout:g} seconds'
    elif isinstance(exc, ks_exceptions.ConnectionError):
        detail = f'{_masked(exc).partition(": ")[0]}: {_root_cause(exc)}'
    else:
        detail = _masked(exc)
    return ServiceUnreachable(
        reason, detail.rstrip('.'),
        isinstance(exc, ks_exceptions.RetriableConnectionFailure))


def _masked(exc):
    """Return an error's text without queries and passwords of URLs."""
    text = ' '.join(str(exc).split()) or type(exc).__name__
    text = re.sub(r'://[^\s/?]*@', '://***@', text)
    return re.sub(r'\?[^\s:]*', '', text)


def _root_cause(exc):
    """Return what the system says of a connection that failed.

    The context of an error may reach back to one of another request, which
    is not its cause.
    """
    while (inner := exc.__cause__ or exc.__context__) and not isinstance(
            inner, exception.NovaSchedException):
        exc = inner
    return _masked(exc)
