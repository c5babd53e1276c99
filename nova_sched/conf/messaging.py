"""The URL of the message broker, from the options of each release.

From Newton on it is ``[DEFAULT] transport_url`` alone. Files of Kilo and
Mitaka name the broker by several options in [oslo_messaging_rabbit] (Kilo:
also in [DEFAULT]); oslo.messaging has dropped these options, so they are
registered here and made into one URL.
"""

import re

from kombu import compression
from oslo_config import cfg
from oslo_config import types
import oslo_messaging
from oslo_messaging._drivers import impl_rabbit
from oslo_utils import netutils

from nova_sched import exception
from nova_sched.options import entry_points
from nova_sched.options import files
from nova_sched.options import nearest

GROUP = 'oslo_messaging_rabbit'
HELP = None

_PORT = types.Port()

_SCHEME = re.compile(r'(?:[\w.+-]*://)?')
#: The comma before a host: a user or a port follows, or no @ at all.
_NEXT_HOST = re.compile(',(?=[^,@]*:|[^@]*$)')
#: User and password before a host.
_CREDENTIALS = re.compile('^([^:]*):.*@', re.DOTALL)

#: Drivers of oslo.messaging without RPC.
_ONE_WAY = ('kafka',)

#: The driver used for rabbit; not a scheme for operators.
_OURS = 'nova_sched_rabbit'

#: Options that change the form of queues and exchanges; the broker refuses
#: a declaration that differs from an existing queue.
QUEUE_FORMS = frozenset((
    'amqp_durable_queues', 'amqp_auto_delete', 'rabbit_quorum_queue',
    'rabbit_quorum_delivery_limit', 'rabbit_quorum_max_memory_length',
    'rabbit_quorum_max_memory_bytes', 'rabbit_transient_quorum_queue',
    'rabbit_stream_fanout', 'rabbit_transient_queues_ttl'))

#: Values of rpc_backend that stand for RabbitMQ, of all releases.
_RABBIT = (
    'rabbit', 'kombu', 'nova.rpc.impl_kombu',
    'nova.openstack.common.rpc.impl_kombu',
    'oslo_messaging._drivers.impl_rabbit',
)

#: Options that contradict each other, and the text of the driver's error.
_CONTRADICTIONS = (
    (lambda rabbit: rabbit.rabbit_quorum_queue and rabbit.rabbit_ha_queues,
     'rabbit_quorum_queue and rabbit_ha_queues both enabled; a queue is of '
     'one kind'),
    (lambda rabbit: (rabbit.rabbit_stream_fanout
                     and not rabbit.rabbit_transient_quorum_queue),
     'rabbit_stream_fanout need rabbit_transient_quorum_queue to be true'),
    (lambda rabbit: (rabbit.rabbit_stream_fanout
                     and rabbit.rabbit_qos_prefetch_count <= 0),
     'rabbit_stream_fanout need rabbit_qos_prefetch_count above 0'))


def _old(opt_class, name, help_text, **kwargs):
    return opt_class(
        name, deprecated_for_removal=True,
        deprecated_reason='Replaced by [DEFAULT] transport_url.',
        help=f'\n{help_text} Read only if [DEFAULT] transport_url is '
             'unset; use transport_url instead.\n', **kwargs)


OPTS = [
    _old(cfg.StrOpt, 'rabbit_host', 'Host of the RabbitMQ broker.',
         default='localhost'),
    _old(cfg.PortOpt, 'rabbit_port', 'Port of the RabbitMQ broker.',
         default=5672),
    _old(cfg.ListOpt, 'rabbit_hosts',
         'Hosts of a RabbitMQ cluster, as host or host:port.', default=[]),
    _old(cfg.StrOpt, 'rabbit_userid', 'User name at the broker.',
         default='guest'),
    _old(cfg.StrOpt, 'rabbit_password', 'Password at the broker.',
         default='guest', secret=True),
    _old(cfg.StrOpt, 'rabbit_virtual_host',
         'Virtual host of the broker.', default='/'),
]


def _is_set(conf, name, group=None):
    location = conf.get_location(name, group)
    return location is not None and location.location not in (
        cfg.Locations.opt_default, cfg.Locations.set_default)


def transport_url(conf):
    """Return the URL of the message broker for RPC: text, for oslo.messaging.

    [DEFAULT] transport_url if set; else the URL of Kilo's and Mitaka's
    options, credentials percent-encoded; else ``rabbit://``, a broker on this
    machine. TLS has the [oslo_messaging_rabbit] ssl options, also under their
    older names (rabbit_use_ssl, kombu_ssl_...).
    Raises ConfigurationError for a broker kind that is not supported and for
    malformed addresses.
    """
    if _is_set(conf, 'transport_url'):
        return _checked(conf, conf.transport_url)
    if conf.rpc_backend and conf.rpc_backend not in _RABBIT:
        raise exception.ConfigurationError(
            '[DEFAULT] rpc_backend', conf.rpc_backend,
            'only rabbit is supported; set [DEFAULT] '
            'transport_url = rabbit://USER:PASSWORD@HOST:5672/')
    if not any(_is_set(conf, opt.name, GROUP) for opt in OPTS):
        return 'rabbit://'
    return _rabbit_url(conf)


def replaced_options(conf):
    """Return the options that transport_url replaces: set of (section, name).

    Empty if it is not set.
    """
    if not _is_set(conf, 'transport_url'):
        return set()
    return {('DEFAULT', 'rpc_backend'), *((GROUP, opt.dest) for opt in OPTS)}


def notification_transport_url(conf):
    """Return the URL of the message broker for notifications: text.

    Raises ConfigurationError as transport_url does.
    """
    return own_notification_url(conf) or transport_url(conf)


def own_notification_url(conf):
    """Return [oslo_messaging_notifications] transport_url: text or None.

    Raises ConfigurationError if it is not the URL of a message broker.
    """
    url = conf.oslo_messaging_notifications.transport_url
    return url and _checked(
        conf, url, '[oslo_messaging_notifications] transport_url')


def notification_drivers(conf):
    """Return the names of the notification drivers that send: list."""
    return [name for name in conf.oslo_messaging_notifications.driver
            if name not in ('', 'noop')]


def lock_path(conf):
    """Return the directory of oslo.messaging's locks, or None.

    Only its queue manager needs one. Raises ConfigurationError without.
    """
    if not conf.oslo_messaging_rabbit.use_queue_manager:
        return None
    path = conf.oslo_concurrency.lock_path
    if not path:
        raise exception.ConfigurationError(
            '[oslo_concurrency] lock_path', path,
            f'[{GROUP}] use_queue_manager needs a directory for lock files '
            'that the service may write to')
    return path


def check_tls_files(conf):
    """Raise ConfigurationError if a TLS file cannot be read."""
    rabbit = conf.oslo_messaging_rabbit
    for name in ('ssl_ca_file', 'ssl_cert_file', 'ssl_key_file'):
        if rabbit.ssl and rabbit[name]:
            files.check_readable(f'[{GROUP}] {name}', rabbit[name])


def check_values(conf):
    """Raise ConfigurationError for values that fail only at run time.

    The broker's library refuses them when it connects, or at every answer.
    """
    rabbit = conf.oslo_messaging_rabbit
    known = impl_rabbit.Connection._SSL_PROTOCOLS
    version = rabbit.ssl_version
    if rabbit.ssl and version and version.lower() not in known:
        raise exception.ConfigurationError(
            f'[{GROUP}] ssl_version', version,
            'is no version of TLS; ' + nearest.did_you_mean(version, known))
    if name := rabbit.kombu_compression:
        try:
            compression.get_encoder(name)
        except KeyError:
            raise exception.ConfigurationError(
                f'[{GROUP}] kombu_compression', name,
                'no message could be sent by it; write gzip or bzip2, or take '
                'the option out') from None
    for contradicts, hint in _CONTRADICTIONS:
        if contradicts(rabbit):
            raise exception.ConfigurationError(
                f'[{GROUP}]', 'as configured', hint)


def _checked(conf, url, option='[DEFAULT] transport_url'):
    """Return a configured URL.

    Raises ConfigurationError, without the password, if it is malformed.
    """
    try:
        scheme = oslo_messaging.TransportURL.parse(conf, url).transport
    except (oslo_messaging.InvalidTransportURL, ValueError):
        scheme = ''
    drivers = entry_points.named('oslo.messaging.drivers')
    name = scheme.partition('+')[0]
    if name not in drivers.names or name == _OURS:
        hint = 'is no URL of a message broker'
    elif name in _ONE_WAY and option == '[DEFAULT] transport_url':
        hint = f'{name} carries notifications, but no requests'
    elif missing := _missing(drivers[name]):
        hint = f'{name} needs the Python module {missing}, which is not there'
    else:
        return url
    raise exception.ConfigurationError(
        option, masked(url),
        f'{hint}; write rabbit://USER:PASSWORD@HOST:5672/, in the password '
        '%2F for /, %40 for @ and %3A for :') from None


def _missing(driver):
    """Return the module that an entry point fails to import, or None."""
    try:
        driver.load()
    except ImportError as error:
        return error.name or str(error)
    return None


def masked(url):
    """Return a broker's URL without its passwords, for logs and messages.

    The text between the first : and the last @ of each host is masked.  Also
    a password with unencoded characters is masked, with which the URL cannot
    be used: ambiguous text counts as part of the password, unless it has the
    form of another host with user and password.
    """
    scheme = _SCHEME.match(url)[0]
    hosts, shown = _NEXT_HOST.split(url.removeprefix(scheme)), []
    while hosts:
        host = hosts.pop(0)
        # This may be the first part of a password, not a host and port.
        while ':' in host and '@' not in host and '@' in ''.join(hosts):
            host = f'{host},{hosts.pop(0)}'
        shown.append(_CREDENTIALS.sub(r'\1:***@', host))
    return scheme + ','.join(shown)


def _rabbit_url(conf):
    rabbit = conf.oslo_messaging_rabbit
    hosts = []
    # rabbit_host may be a bare IPv6 address.
    for text in (rabbit.rabbit_hosts
                 or [netutils.escape_ipv6(rabbit.rabbit_host)]):
        try:
            host, port = netutils.parse_host_port(text, rabbit.rabbit_port)
            _PORT(port)
        except ValueError:
            raise exception.ConfigurationError(
                f'[{GROUP}] rabbit_hosts', text,
                'is no host or host:port') from None
        hosts.append(oslo_messaging.TransportHost(
            host, port, rabbit.rabbit_userid, rabbit.rabbit_password))
    return str(oslo_messaging.TransportURL(
        conf, 'rabbit', rabbit.rabbit_virtual_host, hosts))
