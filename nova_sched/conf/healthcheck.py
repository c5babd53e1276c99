"""[healthcheck]: where the service tells how it is."""

import re
import typing

from oslo_config import cfg

from nova_sched import exception

GROUP = 'healthcheck'
HELP = """
Over HTTP the service tells how it is, as Nova's specification of per-process
health checks has it: at /health, for all of its workers. It answers from
memory what they noticed in their work.
"""

OPTS = [
    cfg.ListOpt('uri', default=[], help="""
Where it listens, several with commas between: tcp://host:port, with an IPv6
address in [ ], or unix:///absolute/path, a socket that its owner and group may
use. Nobody has to log in, so keep it to this machine or a network for
monitoring. Unset: nowhere. Read at the start.
"""),
    cfg.IntOpt('ttl', default=300, min=0, help="""
How many seconds it counts what was noticed. What is older is a warning, and
the service fails if all of it is. 0: for ever. Of a service that nobody asks
anything the databases are read every 30 seconds, or three times within this
time, so that it is known whether they can be.
"""),
    cfg.IntOpt('cache_control', min=-1, help="""
How many seconds others may keep an answer, in its header Cache-Control. 0: no
such header; -1: no-cache, which a service that fails says in any case. Unset:
as ttl.
"""),
]


class Endpoint(typing.NamedTuple):
    """Where to listen: a host and a port, or the path of a socket."""

    host: str | None
    port: int | None
    path: str | None = None


#: What a host and a path may be made of.
_HOST = re.compile(r'[\w.-]+|\[[0-9a-fA-F:.]+(%\w+)?\]', re.ASCII)
_PATH = re.compile(r'(/[\w.-]+)+', re.ASCII)
#: Characters of the path of a socket, which the system bounds.
_LONGEST_PATH = 100


def endpoint(uri):
    """Return the Endpoint that a URI names.

    Raises ValueError, which says what is wrong.
    """
    scheme, _, rest = uri.partition('://')
    if scheme == 'unix':
        if not _PATH.fullmatch(rest) or '..' in rest.split('/'):
            raise ValueError('it names no absolute path, of letters, digits, '
                             '"_", "-" and "."')
        if len(rest) > _LONGEST_PATH:
            raise ValueError(f'a path of more than {_LONGEST_PATH} characters '
                             'is too long for a socket')
        return Endpoint(None, None, rest)
    if scheme != 'tcp':
        raise ValueError('it is neither tcp://host:port nor '
                         'unix:///absolute/path')
    host, _, port = rest.rpartition(':')
    if not _HOST.fullmatch(host):
        raise ValueError('it names no host and port; an IPv6 address stands '
                         'in [ ]')
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise ValueError('it has no port from 1 to 65535')
    return Endpoint(host.strip('[]'), int(port))


def check_uris(conf):
    """Raise ConfigurationError for a URI that names no endpoint."""
    for option, uris in (('[healthcheck] uri', conf.healthcheck.uri),
                         ('[nova_sched] metrics_uri',
                          conf.nova_sched.metrics_uri)):
        for uri in uris:
            try:
                endpoint(uri)
            except ValueError as error:
                raise exception.ConfigurationError(
                    option, uri, str(error)) from None
