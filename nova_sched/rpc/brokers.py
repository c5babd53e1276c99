"""Connections to a message broker without oslo.messaging.

Programs that check or listen must not change a broker: oslo.messaging would
declare exchanges and queues, choose any host of a cluster, and retry for
ever.  The connections here follow the same options.
"""

import contextlib
import dataclasses
import random
import ssl
from urllib import parse

import amqp
import kombu
from oslo_messaging import TransportHost
from oslo_messaging import TransportURL
from oslo_utils import netutils

#: Seconds that connecting to one host of a cluster may take.
_PATIENCE = 5

#: The first makes a broker send the reason before it closes a connection.
_PROPERTIES = {'capabilities': {'authentication_failure_close': True,
                                'consumer_cancel_notify': True}}


@dataclasses.dataclass(frozen=True)
class Broker:
    """One host of a broker.

    where: host, port and virtual host, as text.
    """

    where: str
    _parameters: dict = dataclasses.field(repr=False)

    @contextlib.contextmanager
    def connected(self, seconds):
        """Open a connection of amqp for a block.

        seconds: timeout of each operation.
        Raises OSError and amqp.AMQPError: AccessRefused if the user lacks a
        permission, NotAllowed if it has none on the virtual host.
        """
        connection = amqp.Connection(
            **self._parameters, connect_timeout=seconds,
            read_timeout=seconds, write_timeout=seconds)
        try:
            connection.connect()
            yield connection
        finally:
            with contextlib.suppress(OSError, amqp.AMQPError):
                connection.close()
            connection.collect()


def brokers(conf, url):
    """Return the hosts of a transport URL: list of Broker.

    Empty unless the transport is RabbitMQ.  [oslo_messaging_rabbit] defines
    TLS and the login method.
    """
    url = TransportURL.parse(conf, url)
    virtual_host, hosts = url.virtual_host or '/', _hosts(url)
    parameters = {
        'virtual_host': virtual_host, 'ssl': _tls(conf, hosts),
        'login_method': conf.oslo_messaging_rabbit.rabbit_login_method,
        'client_properties': _PROPERTIES}
    return [
        Broker(f'{_place(host)}, virtual host {virtual_host}', parameters | {
            'host': _place(host), 'userid': host.username or '',
            'password': host.password or ''}) for host in hosts]


def connection(conf, url, name):
    """Return a kombu.Connection that tries one host after the other.

    It is not open yet.  TLS and login method: see ``brokers``.
    name: name of the connection at the broker.
    """
    options = conf.oslo_messaging_rabbit
    hosts = _hosts(TransportURL.parse(conf, url))
    return kombu.Connection(
        ';'.join(urls(conf, url)), ssl=_tls(conf, hosts),
        login_method=options.rabbit_login_method,
        heartbeat=options.heartbeat_timeout_threshold,
        failover_strategy=options.kombu_failover_strategy,
        connect_timeout=_PATIENCE,
        transport_options={'client_properties': {
            'connection_name': name, **_PROPERTIES},
            'read_timeout': _PATIENCE, 'write_timeout': _PATIENCE})


def urls(conf, url):
    """Return kombu's URLs of the hosts of a transport URL: list, shuffled.

    They contain passwords.  Empty unless the transport is RabbitMQ.
    """
    url = TransportURL.parse(conf, url)
    made = [kombu_url(url, host) for host in _hosts(url)]
    random.shuffle(made)
    return made


def kombu_url(url, host):
    """Return kombu's URL of a TransportHost, with its password: text.

    url: TransportURL of the host, for RabbitMQ or a transport of kombu.
    """
    scheme = url.transport.removeprefix('kombu+').replace('rabbit', 'amqp')
    user, password, path = (
        parse.quote(text or '', safe='')
        for text in (host.username, host.password, url.virtual_host or '/'))
    return f'{scheme}://{user}:{password}@{_place(host)}/{path}'


def _hosts(url):
    """Return the TransportHosts of a TransportURL; [] unless RabbitMQ."""
    if url.transport != 'rabbit':
        return []
    return url.hosts or [TransportHost('localhost', 5672, 'guest', 'guest')]


def _place(host):
    name = netutils.escape_ipv6(host.hostname or 'localhost')
    return f'{name}:{host.port or 5672}'


def _tls(conf, hosts):
    """Return the TLS parameter of amqp and kombu: False, True or a dict.

    As oslo.messaging builds it, but ssl_version is ignored: the best version
    that both sides support is used.
    """
    options = conf.oslo_messaging_rabbit
    if not options.ssl:
        return False
    tls = {'keyfile': options.ssl_key_file,
           'certfile': options.ssl_cert_file}
    if options.ssl_ca_file:
        tls |= {'ca_certs': options.ssl_ca_file,
                'cert_reqs': ssl.CERT_REQUIRED,
                'server_hostname': hosts[0].hostname
                if len(hosts) == 1 else None}
    return {name: value for name, value in tls.items() if value} or True
