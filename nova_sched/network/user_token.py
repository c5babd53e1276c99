"""Sending requests to Neutron: as whom, how often, and for how long."""

import functools
import time

from keystoneauth1 import plugin
from keystoneauth1 import service_token
from keystoneauth1.access import service_catalog
from keystoneauth1.exceptions import catalog as catalog_exceptions
from oslo_log import log as logging

from nova_sched import service_adapter
from nova_sched.network.responses import Answer
from nova_sched.service_adapter import NoAnswer
from nova_sched.service_adapter import Why

LOG = logging.getLogger(__name__)

#: Seconds before the first try again; each further one waits twice as long.
DELAY = 0.5

_ONCE = {'connect_retries': 0, 'status_code_retries': 0}


class Deadline:
    """When something must be over.

    seconds: from now on.  clock: function that gives seconds.
    """

    def __init__(self, seconds, clock=time.monotonic):
        self._end, self._clock = clock() + seconds, clock

    def left(self):
        """Seconds that are left; zero or less when it is over."""
        return self._end - self._clock()


class UserToken(plugin.BaseAuthPlugin):
    """A token that somebody else got, with the catalog that came with it.

    catalog: list of services, in the form of Keystone v2 or v3.
    """

    def __init__(self, token, catalog):
        super().__init__()
        self._token, self._services = token, catalog

    def get_token(self, session, **kwargs):
        """The token; see keystoneauth1.plugin."""
        return self._token

    def get_endpoint(self, session, service_type=None, interface=None,
                     region_name=None, service_name=None, **kwargs):
        """The address of a service; see keystoneauth1.plugin.

        Raises EndpointNotFound.
        """
        try:
            is_v3 = any('interface' in endpoint for service in self._services
                        for endpoint in service['endpoints'])
            catalog = (service_catalog.ServiceCatalogV3 if is_v3 else
                       service_catalog.ServiceCatalogV2)(self._services)
            return catalog.url_for(
                service_type=service_type, interface=interface,
                region_name=region_name, service_name=service_name)
        except (KeyError, TypeError, AttributeError) as exc:
            raise catalog_exceptions.EndpointNotFound(
                "The catalog in the caller's context cannot be read"
            ) from exc


class Access:
    """Sends requests to Neutron, by [neutron] and [service_user].

    Safe for threads and for processes: nothing is opened before the first
    request, and each process opens its own connections.
    """

    def __init__(self, conf, sleep=time.sleep):
        self._links = service_adapter.Links(conf, 'neutron')
        self._retries, self._sleep = conf.neutron.http_retries, sleep
        self._vouching = None
        if conf.service_user.send_service_user_token:
            self._vouching = service_adapter.Links(conf, 'service_user')

    def has_log_in(self):
        """Whether [neutron] says how to log in.  Raises NoAnswer."""
        return self._links.get().auth is not None

    def get_as_service(self, path, request_id, deadline):
        """``get_as_user`` by the log-in of [neutron]."""
        link = self._links.get()
        link.log_in()
        try:
            return self._get(link, path, request_id, deadline, link.auth)
        except NoAnswer as exc:
            if exc.why is Why.ENDPOINT:
                self._links.drop()
            raise

    def get_as_user(self, path, request_id, deadline, token, catalog):
        """Read something: an Answer, whatever the status.

        path: with its query.  request_id: under which Neutron logs it.
        deadline: Deadline.  token, catalog: of UserToken.
        Raises NoAnswer.
        """
        auth = UserToken(token, catalog)
        if self._vouching is not None:
            vouching = self._vouching.get()
            vouching.log_in()
            if vouching.auth is None:
                _warn_once('No token of [service_user] is sent to Neutron, '
                           'although send_service_user_token asks for it: '
                           'set auth_type there, and the options it needs')
            else:
                auth = service_token.ServiceTokenAuthWrapper(
                    auth, vouching.auth)
        return self._get(self._links.get(), path, request_id, deadline, auth)

    def _get(self, link, path, request_id, deadline, auth):
        headers = {'Accept': 'application/json'}
        if request_id:
            headers['X-Openstack-Request-Id'] = request_id
        delay = DELAY
        for tries in range(self._retries, -1, -1):
            left = deadline.left()
            if left <= 0:
                raise NoAnswer(Why.SILENT, 'Reading the networks of one '
                               'request took too long')
            try:
                response = link.send('GET', path, min(link.timeout, left),
                                     auth=auth, headers=headers, **_ONCE)
                return Answer(response.status_code,
                              response.content.decode(errors='replace'))
            except NoAnswer as exc:
                if not (exc.passing and tries and deadline.left() > delay):
                    raise
            self._sleep(delay)
            delay *= 2
        raise AssertionError('the last try raises')


@functools.cache
def _warn_once(text):
    LOG.warning('%s', text)
