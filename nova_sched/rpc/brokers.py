"""Connections to a message broker without oslo.messaging.

oslo.messaging takes whichever host of a cluster it gets, for ever, and
declares what it uses; its consumers are servers, which answer.  Connections
here ask the hosts of a broker, or listen; they are made by the same options,
and change nothing.
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

#: Without the first a broker closes the connection instead of saying why.
_PROPERTIES = {'capabilities': {'authentication_failure_close': True,
                                'consumer_cancel_notify': True}}


@dataclasses.dataclass(frozen=True)
class Broker:
    """One host of a broker.

    where: host and port, and the virtual host.
    """

    where: str
    _parameters: dict = dataclasses.field(repr=False)

    @contextlib.contextmanager
    def connected(self, seconds):
        """Have a connection of amqp for a block.

        seconds: that each step may take.
        Raises OSError and amqp.AMQPError: AccessRefused for what its user
        may not do, NotAllowed for a virtual host that is not open to it.
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

    Empty for a transport that is no RabbitMQ.  TLS and the way to log in are
    those of [oslo_messaging_rabbit].
    """
    url = TransportURL.parse(conf, url)
    hosts = _hosts(url)
    tls = _tls(conf, hosts)
    return [_broker(conf, host, url.virtual_host or '/', tls)
            for host in hosts]


def connection(conf, url, name):
    """Return a kombu.Connection to one host after the other; not open yet.

    name: what the broker shows it as.
    TLS and the way to log in are those of ``brokers``.
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
    """Return the hosts of a transport URL as kombu's URLs: list, in any order.

    They hold the passwords.  Empty for a transport that is no RabbitMQ.
    """
    url = TransportURL.parse(conf, url)
    found = [kombu_url(url, host) for host in _hosts(url)]
    random.shuffle(found)
    return found


def kombu_url(url, host):
    """Return kombu's URL of a TransportHost, with its password: text.

    url: the TransportURL that it is of, for a RabbitMQ, or a transport of
        kombu's.
    """
    scheme = url.transport.removeprefix('kombu+').replace('rabbit', 'amqp')
    user, password, path = (
        parse.quote(text or '', safe='')
        for text in (host.username, host.password, url.virtual_host or '/'))
    return f'{scheme}://{user}:{password}@{_place(host)}/{path}'


def _hosts(url):
    """Return the TransportHosts of a TransportURL, if it is of a RabbitMQ."""
    if url.transport != 'rabbit':
        return []
    return url.hosts or [TransportHost('localhost', 5672, 'guest', 'guest')]


def _broker(conf, host, virtual_host, tls):
    where = _place(host)
    return Broker(f'{where}, virtual host {virtual_host}', {
        'host': where, 'virtual_host': virtual_host, 'ssl': tls,
        'userid': host.username or '', 'password': host.password or '',
        'login_method': conf.oslo_messaging_rabbit.rabbit_login_method,
        'client_properties': _PROPERTIES})


def _place(host):
    name = netutils.escape_ipv6(host.hostname or 'localhost')
    return f'{name}:{host.port or 5672}'


def _tls(conf, hosts):
    """Return what amqp and kombu want to know of TLS: False, True or a dict.

    It is what oslo.messaging makes of the options, except for ssl_version:
    the best that both sides know is taken.
    """
    options = conf.oslo_messaging_rabbit
    if not options.ssl:
        return False
    found = {'keyfile': options.ssl_key_file,
             'certfile': options.ssl_cert_file}
    if options.ssl_ca_file:
        found |= {'ca_certs': options.ssl_ca_file,
                  'cert_reqs': ssl.CERT_REQUIRED,
                  'server_hostname': hosts[0].hostname
                  if len(hosts) == 1 else None}
    return {name: value for name, value in found.items() if value} or True
