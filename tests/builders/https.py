"""HTTPS with certificates of a test's own: a Server, and one before another.
"""

import requests

from tests.builders import authority
from tests.builders import http_server

#: Headers that are of one connection, or that are made anew.
_OF_THE_WAY = {'connection', 'content-length', 'transfer-encoding', 'host',
               'content-encoding', 'server', 'date'}


class Server(http_server.Server):
    """An http_server.Server at ``https://localhost``.

    issued: its authority.Issued.
    clients_of: the Authority that clients must have a certificate of.
    """

    def __init__(self, issued, clients_of=None):
        super().__init__()
        self._http.socket = authority.server_context(
            issued, clients_of).wrap_socket(
                self._http.socket, server_side=True,
                do_handshake_on_connect=False)
        self.port = self._http.server_address[1]
        self.url = f'https://localhost:{self.port}'


def lead_to(server, url):
    """Have a Server ask another one, and answer what that answers.

    url: of the other one.
    """
    def answer(asked):
        found = requests.request(
            asked.method, url + asked.path, json=asked.body, timeout=30,
            headers=_end_to_end(asked.headers))
        return http_server.Answer(found.status_code, found.text,
                                  _end_to_end(found.headers))

    for method in ('GET', 'PUT', 'POST', 'DELETE'):
        server.on(method, '/', answer)


def _end_to_end(headers):
    return {name: value for name, value in headers.items()
            if name.lower() not in _OF_THE_WAY}
