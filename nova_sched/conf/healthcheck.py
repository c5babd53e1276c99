"""[healthcheck]: where the service reports its health."""

import re
import typing

from oslo_config import cfg

from nova_sched import exception

GROUP = 'healthcheck'
HELP = """
The service reports its health over HTTP at /health, for all of its workers, in
the form of Nova's specification of per-process health checks. Answers come
from memory: the results of the workers' recent work.
"""

OPTS = [
    cfg.ListOpt('uri', default=[], help="""
Where the service listens, several separated by commas: tcp://host:port, with
an IPv6 address in [ ], or unix:///absolute/path, a socket for its owner and
group. There is no log-in, so use this machine or a monitoring network. Unset:
health is not reported. A change requires a restart.
"""),
    cfg.IntOpt('ttl', default=300, min=0, help="""
How many seconds a result is valid. An older result is a warning, and the
service fails if all results are older. 0: results are valid without limit. An
idle service reads the databases every 30 seconds, or three times within this
time, to have a recent result.
"""),
    cfg.IntOpt('cache_control', min=-1, help="""
How many seconds clients may cache an answer: its header Cache-Control. 0: no
such header; -1: no-cache, which a service that fails always sends. Unset: the
same as ttl.
"""),
]


class Endpoint(typing.NamedTuple):
    """An address to listen on: a host and a port, or the path of a socket."""

    host: str | None
    port: int | None
    path: str | None = None


#: Characters of a host and of a path.
_HOST = re.compile(r'[\w.-]+|\[[0-9a-fA-F:.]+(%\w+)?\]', re.ASCII)
_PATH = re.compile(r'(/[\w.-]+)+', re.ASCII)
#: Maximum length of the path of a socket; Linux takes at most 107.
_LONGEST_PATH = 100


def endpoint(uri):
    """Return the Endpoint that a URI names.

    Raises ValueError with the reason if it is malformed.
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
    """Raise ConfigurationError for a malformed URI."""
    for option, uris in (('[healthcheck] uri', conf.healthcheck.uri),
                         ('[nova_sched] metrics_uri',
                          conf.nova_sched.metrics_uri)):
        for uri in uris:
            try:
                endpoint(uri)
            except ValueError as error:
                raise exception.ConfigurationError(
                    option, uri, str(error)) from None
