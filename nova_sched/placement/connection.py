"""The way to Placement: endpoint, log-in and connections, by [placement]."""

import itertools
import os
import re
import threading

from keystoneauth1 import exceptions as ks_exceptions
from keystoneauth1 import loading
from oslo_config import cfg
from oslo_log import log as logging

from nova_sched import exception
from nova_sched.placement import answers
from nova_sched.placement import versions

LOG = logging.getLogger(__name__)

GROUP = 'placement'
#: Seconds to wait for an answer where [placement] timeout is unset.
TIMEOUT = 30
#: Of the warnings that repeat while nobody acts, one in so many is logged.
REPEAT = 11

_ENDPOINT = ('The placement API endpoint was not found.',
             "Add an endpoint of service type placement to Keystone's catalog "
             'for the region and interfaces of [placement], or set its '
             'endpoint_override')
_NO_LOGIN = ('No authentication information found for placement API.',
             'Set [placement] auth_type and the options that it needs')
_CREDENTIALS = ('Placement service credentials do not work.',
                'Check user, password and project in [placement]')
_DISCOVERY = ('Discovering suitable URL for placement API failed.',
              'Check [placement] auth_url and the endpoint of Placement')
_SILENT = ('Placement API service is not responding.',
           "Check that it runs, and its endpoint in Keystone's catalog or "
           '[placement] endpoint_override')
_KEYSTONE = ('Keystone gives no token for placement API.',
             'Check that it runs, and [placement] auth_url')
_OPTIONS = ('The options of [placement] cannot be used.',
            'Correct them and restart')

_ONCE = {'connect_retries': 0, 'status_code_retries': 0}

#: What an error means, the first that fits.
_MEANING = (
    (ks_exceptions.CatalogException, _ENDPOINT),
    (ks_exceptions.AuthPluginException, _NO_LOGIN),
    (ks_exceptions.Unauthorized, _CREDENTIALS),
    (ks_exceptions.DiscoveryFailure, _DISCOVERY),
)
_LASTING = {_ENDPOINT, _NO_LOGIN, _CREDENTIALS, _DISCOVERY, _OPTIONS}
#: What keystoneauth1 lets through; OSError for files that cannot be read.
_ERRORS = (ks_exceptions.ClientException, OSError, ValueError)


class Unreachable(exception.PlacementError):
    """There was no answer; the text says why, and what to do."""

    def __init__(self, meaning, detail):
        what, advice = self.meaning = meaning
        super().__init__(f'{what} {detail}. {advice}')


class Connection:
    """Sends requests to Placement, as the service user of [placement].

    Safe for threads and for processes: nothing is opened before the first
    request, and each process that uses it opens its own.
    """

    def __init__(self, conf):
        self._conf, self._links = conf, {}
        self._spoken = None
        self._repeats = {meaning: itertools.count() for meaning in _LASTING}

    def ask(self, method, path, version=None, request_id=None, body=None,
            patience=None, again=True):
        """Send one request: answers.Answer, whatever the status but 401.

        version: microversion; without one, that of the oldest clients.
        request_id: under which Placement logs the request.
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
        repeats = self._repeats.get(unreachable.meaning)
        if repeats is None or next(repeats) % REPEAT == 0:
            LOG.warning('%s', unreachable)
        raise unreachable

    def spoken(self):
        """What it speaks: versions.Spoken.

        Asked once, and again after a lost connection or a 406.
        Raises Unreachable, or answers.Refused for something else's answer.
        """
        spoken = self._spoken
        if spoken is None:
            answer, problem = self.ask('GET', '/'), None
            try:
                if answer.status == 200:
                    spoken = versions.Spoken.of(answer.document())
            except ValueError as exc:
                problem = exc
            if spoken is None:
                raise answers.Refused(_DISCOVERY[0], answer, problem)
            self._spoken = spoken
        return spoken

    def _ask(self, method, path, kwargs, patience):
        link = self._link()
        link.log_in()
        timeout = min(link.timeout, patience or link.timeout)
        try:
            response = link.adapter.request(
                path, method, raise_exc=False, timeout=timeout, **kwargs)
        except _ERRORS as exc:
            if isinstance(exc, ks_exceptions.CatalogException):
                # The catalog came with the token, and both are kept.
                self._links.pop(os.getpid(), None)
            raise _unreachable(exc, _SILENT, timeout) from exc
        answer = answers.Answer(
            response.status_code, response.content.decode(errors='replace'),
            response.headers.get('x-openstack-request-id'))
        if answer.status == 401:
            raise Unreachable(_CREDENTIALS,
                              f'It answered 401: {answer.words}')
        if answer.status == 406:
            self._spoken = None
        return answer

    def _link(self):
        """This process's Link."""
        pid = os.getpid()
        # Without a lock: a fork in another thread would leave it held. Of
        # two that are made at the same time one is dropped unused.
        return self._links.get(pid) or self._links.setdefault(
            pid, Link(self._conf))


class Link:
    """A keystoneauth1 adapter with its session, for one process.

    Raises Unreachable when [placement] does not lead to one.
    """

    def __init__(self, conf):
        try:
            # The section that auth_section names has no options otherwise.
            loading.register_auth_conf_options(conf, GROUP)
            auth = loading.load_auth_from_conf_options(conf, GROUP)
            session = loading.load_session_from_conf_options(
                conf, GROUP, auth=auth, app_name='nova-sched')
            self.adapter = loading.load_adapter_from_conf_options(
                conf, GROUP, session=session)
        except (*_ERRORS, TypeError, cfg.Error) as exc:
            raise _unreachable(exc, _OPTIONS, TIMEOUT) from exc
        wanted = conf.placement.timeout or 0
        self.timeout = session.timeout = wanted if wanted > 0 else TIMEOUT
        # One connection for each thread that may be deciding.
        session.session.get_adapter('https://').init_poolmanager(
            2, conf.executor_thread_pool_size)
        self._session, self._lock = session, threading.Lock()
        self._failures, self._failure = 0, None

    def log_in(self):
        """Have a token, if one is needed.

        Whoever waits for another's log-in shares its failure: with a
        Keystone that hangs, one after the other would wait for ever.
        Raises Unreachable.
        """
        if self._session.auth is None:
            return
        failures = self._failures
        with self._lock:
            if failures == self._failures:
                self._failure = self._log_in()
                self._failures += self._failure is not None
            failure = self._failure
        if failure is not None:
            raise _unreachable(failure, _KEYSTONE, self.timeout)

    def _log_in(self):
        try:
            self._session.get_auth_headers()
            return None
        except Exception as exc:
            # Keystone's answer is read as it comes, whatever it is.
            return exc


def _headers(version, request_id):
    headers = {'Accept': 'application/json'}
    if version:
        headers['OpenStack-API-Version'] = f'placement {version}'
    if request_id:
        headers['X-Openstack-Request-Id'] = request_id
    return headers


def _unreachable(exc, default, timeout):
    """The Unreachable that says what an exception means."""
    meaning = next((meaning for kind, meaning in _MEANING
                    if isinstance(exc, kind)), default)
    if isinstance(exc, ks_exceptions.ConnectTimeout):
        detail = f'{_told(exc)} after {timeout:g} seconds'
    elif isinstance(exc, ks_exceptions.ConnectionError):
        detail = f'{_told(exc).partition(": ")[0]}: {_innermost(exc)}'
    else:
        detail = _told(exc)
    return Unreachable(meaning, detail.rstrip('.'))


def _told(exc):
    """What an exception says, without queries and passwords of URLs."""
    text = ' '.join(str(exc).split()) or type(exc).__name__
    text = re.sub(r'://[^\s/?]*@', '://***@', text)
    return re.sub(r'\?[^\s:]*', '', text)


def _innermost(exc):
    """What the system said in the end, of a connection that failed."""
    while exc.__cause__ or exc.__context__:
        exc = exc.__cause__ or exc.__context__
    return _told(exc)
