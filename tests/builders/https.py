"""An HTTPS Server with certificates of a test's own."""


from tests.builders import authority
from tests.builders import http_server


class Server(http_server.Server):
    """An http_server.Server at ``https://localhost``.

    issued: its authority.Issued.
    clients_of: the Authority of required client certificates.
    """

    def __init__(self, issued, clients_of=None):
        super().__init__()
        self._http.socket = authority.server_context(
            issued, clients_of).wrap_socket(
                self._http.socket, server_side=True,
                do_handshake_on_connect=False)
        self.port = self._http.server_address[1]
        self.url = f'https://localhost:{self.port}'
