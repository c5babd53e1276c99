"""A message broker without oslo.messaging: to ask its hosts, and to listen.

oslo.messaging takes whichever host of a cluster it gets, for ever, and
declares what it uses; its consumers are servers, which answer.  Connections
here are made by the same options, and change nothing.
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

    def consumers(self, queue, seconds):
        """How many consume a queue; None if there is no such queue.

        seconds: that each step may take.
        Raises OSError and amqp.AMQPError: AccessRefused for what its user
        may not do, NotAllowed for a virtual host that is not open to it.
        """
        connection = amqp.Connection(
            **self._parameters, connect_timeout=seconds,
            read_timeout=seconds, write_timeout=seconds)
        try:
            connection.connect()
            # Passive: it is looked up, and never made.
            return connection.channel().queue_declare(
                queue, passive=True).consumer_count
        except amqp.NotFound:
            return None
        finally:
            with contextlib.suppress(OSError, amqp.AMQPError):
                connection.close()
            connection.collect()


def brokers(conf, url):
    """The hosts of a transport URL: list of Broker.

    Empty for a transport that is no RabbitMQ.  TLS and the way to log in are
    those of [oslo_messaging_rabbit].
    """
    hosts, virtual_host = _hosts(conf, url)
    tls = _tls(conf, hosts)
    return [_broker(conf, host, virtual_host, tls) for host in hosts]


def connection(conf, url, name):
    """A kombu.Connection to one host after the other; not open yet.

    name: what the broker shows it as.
    Options as of ``brokers``.
    """
    options = conf.oslo_messaging_rabbit
    return kombu.Connection(
        ';'.join(urls(conf, url)), ssl=_tls(conf, _hosts(conf, url)[0]),
        login_method=options.rabbit_login_method,
        heartbeat=options.heartbeat_timeout_threshold,
        failover_strategy=options.kombu_failover_strategy,
        connect_timeout=_PATIENCE,
        transport_options={'client_properties': {
            'connection_name': name, **_PROPERTIES},
            'read_timeout': _PATIENCE, 'write_timeout': _PATIENCE})


def urls(conf, url):
    """The hosts of a transport URL in any order, as kombu's URLs: list.

    They hold the passwords.  Empty for a transport that is no RabbitMQ.
    """
    hosts, virtual_host = _hosts(conf, url)
    found = [_url(host, virtual_host) for host in hosts]
    random.shuffle(found)
    return found


def _hosts(conf, url):
    """The TransportHosts of a RabbitMQ, or none, and its virtual host."""
    url = TransportURL.parse(conf, url)
    if url.transport != 'rabbit':
        return [], None
    return url.hosts or [TransportHost(
        'localhost', 5672, 'guest', 'guest')], url.virtual_host or '/'


def _broker(conf, host, virtual_host, tls):
    where = _place(host)
    return Broker(f'{where}, virtual host {virtual_host}', {
        'host': where, 'virtual_host': virtual_host, 'ssl': tls,
        'userid': host.username or '', 'password': host.password or '',
        'login_method': conf.oslo_messaging_rabbit.rabbit_login_method,
        'client_properties': _PROPERTIES})


def _url(host, virtual_host):
    user, password, path = (
        parse.quote(text or '', safe='')
        for text in (host.username, host.password, virtual_host))
    return f'amqp://{user}:{password}@{_place(host)}/{path}'


def _place(host):
    name = netutils.escape_ipv6(host.hostname or 'localhost')
    return f'{name}:{host.port or 5672}'


def _tls(conf, hosts):
    """What amqp and kombu want to know of TLS: False, True or a dict.

    The same as oslo.messaging makes of it, but that of ssl_version nothing is
    taken but the best that both sides know.
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
