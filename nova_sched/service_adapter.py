"""The way to a service behind Keystone: endpoint, log-in and connections.

What is said of a failure, and to whom, is up to those who use it.
"""

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

#: Seconds to wait for an answer where the section's timeout is unset.
TIMEOUT = 30


class Why(enum.Enum):
    """Why there was no answer."""

    ENDPOINT = 'the catalog has no endpoint'
    NO_LOGIN = 'the options of the log-in are missing or wrong'
    CREDENTIALS = 'Keystone refuses the credentials'
    DISCOVERY = 'Keystone is not where it should be'
    KEYSTONE = 'Keystone gives no token'
    OPTIONS = 'the options of the section cannot be used'
    SILENT = 'the service does not answer'


#: What an error means, the first that fits.
_MEANING = (
    (ks_exceptions.CatalogException, Why.ENDPOINT),
    (ks_exceptions.AuthPluginException, Why.NO_LOGIN),
    (ks_exceptions.Unauthorized, Why.CREDENTIALS),
    (ks_exceptions.DiscoveryFailure, Why.DISCOVERY),
)
#: What keystoneauth1 lets through; OSError for files that cannot be read.
_ERRORS = (ks_exceptions.ClientException, OSError, ValueError)


class NoAnswer(exception.NovaSchedException):
    """There was no answer.

    why: Why.  detail: what exactly, without secrets or a full stop.
    passing: whether it may work when it is tried again.
    """

    def __init__(self, why, detail, passing=False):
        super().__init__(f'{why.value}: {detail}')
        self.why, self.detail, self.passing = why, detail, passing


@dataclasses.dataclass(frozen=True)
class Answer:
    """What came back for one HTTP request: its status and its body."""

    status: int
    text: str

    def document(self):
        """The body as JSON: a dict; ValueError if it is none."""
        try:
            found = json.loads(self.text)
        except RecursionError as exc:
            raise ValueError('it is nested too deeply') from exc
        if not isinstance(found, dict):
            raise ValueError(f'it is a {type(found).__name__}, not an object')
        return found


class Links:
    """The Link of each process to the service of one section.

    conf: ConfigOpts.  group: the section's name.  Safe for threads and for
    processes: nothing is opened before the first request.
    """

    def __init__(self, conf, group):
        self._conf, self._group, self._links = conf, group, {}

    def get(self):
        """This process's Link.  Raises NoAnswer if the options give none."""
        pid = os.getpid()
        # Without a lock: a fork in another thread would leave it held. Of
        # two that are made at the same time one is dropped unused.
        return self._links.get(pid) or self._links.setdefault(
            pid, Link(self._conf, self._group))

    def drop(self):
        """Have this process log in anew: the catalog came with the token."""
        self._links.pop(os.getpid(), None)


class Link:
    """A keystoneauth1 adapter with its session, for one process.

    A section without service_type is a log-in alone: nothing can be sent.

    auth: plug-in of the log-in, or None where auth_type is unset.
    timeout: seconds to wait for an answer.
    Raises NoAnswer when the section does not lead to one.
    """

    def __init__(self, conf, group):
        try:
            # The section that auth_section names has no options otherwise.
            loading.register_auth_conf_options(conf, group)
            self.auth = loading.load_auth_from_conf_options(conf, group)
            session = loading.load_session_from_conf_options(
                conf, group, auth=self.auth, app_name='nova-sched')
            self._adapter = (
                loading.load_adapter_from_conf_options(
                    conf, group, session=session)
                if 'service_type' in conf[group] else None)
        except (*_ERRORS, TypeError, cfg.Error) as exc:
            raise _no_answer(exc, Why.OPTIONS, TIMEOUT) from exc
        wanted = conf[group].timeout or 0
        self.timeout = session.timeout = wanted if wanted > 0 else TIMEOUT
        # One connection for each thread that may be deciding.
        for scheme in ('http://', 'https://'):
            session.session.get_adapter(scheme).init_poolmanager(
                2, conf.executor_thread_pool_size)
        self._session, self._lock = session, threading.Lock()
        self._failures, self._failure = 0, None

    def log_in(self):
        """Have a token, if one is needed.

        Whoever waits for another's log-in shares its failure: with a
        Keystone that hangs, one after the other would wait for ever.
        Raises NoAnswer.
        """
        if self.auth is None:
            return
        failures = self._failures
        with self._lock:
            if failures == self._failures:
                self._failure = self._log_in()
                self._failures += self._failure is not None
            failure = self._failure
        if failure is not None:
            raise _no_answer(failure, Why.KEYSTONE, self.timeout)

    def _log_in(self):
        try:
            self._session.get_auth_headers()
            return None
        except Exception as exc:
            # Keystone's answer is read as it comes, whatever it is.
            return exc

    def send(self, method, path, timeout, **kwargs):
        """Send a request: a requests.Response, whatever the status.

        timeout: seconds to wait for an answer.  kwargs: as of
        keystoneauth1.adapter.Adapter.request.
        Raises NoAnswer.
        """
        try:
            return self._adapter.request(
                path, method, raise_exc=False, timeout=timeout, **kwargs)
        except _ERRORS as exc:
            raise _no_answer(exc, Why.SILENT, timeout) from exc


def _no_answer(exc, default, timeout):
    """The NoAnswer that says what an exception means."""
    why = next((why for kind, why in _MEANING if isinstance(exc, kind)),
               default)
    if isinstance(exc, ks_exceptions.ConnectTimeout):
        detail = f'{_told(exc)} after {timeout:g} seconds'
    elif isinstance(exc, ks_exceptions.ConnectionError):
        detail = f'{_told(exc).partition(": ")[0]}: {_innermost(exc)}'
    else:
        detail = _told(exc)
    return NoAnswer(why, detail.rstrip('.'), isinstance(
        exc, ks_exceptions.RetriableConnectionFailure))


def _told(exc):
    """What an exception says, without queries and passwords of URLs."""
    text = ' '.join(str(exc).split()) or type(exc).__name__
    text = re.sub(r'://[^\s/?]*@', '://***@', text)
    return re.sub(r'\?[^\s:]*', '', text)


def _innermost(exc):
    """What the system said in the end, of a connection that failed.

    What the service was about to answer meanwhile is no cause of it.
    """
    while (inner := exc.__cause__ or exc.__context__) and not isinstance(
            inner, exception.NovaSchedException):
        exc = inner
    return _told(exc)
