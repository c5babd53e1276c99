"""Certificate authorities for tests of TLS, and what they issue."""

import dataclasses
import datetime
import pathlib
import ssl

import trustme


@dataclasses.dataclass(frozen=True)
class Issued:
    """Paths of a certificate, of its key, and of a file with both."""

    certificate: str
    key: str
    both: str


class Authority:
    """An authority that nobody knows but who is given its file.

    directory: for its files.  file: path of its own certificate.
    """

    def __init__(self, directory):
        self._directory = pathlib.Path(directory)
        self._directory.mkdir()
        self._ca, self._issued = trustme.CA(), 0
        self.file = self._write('authority', self._ca.cert_pem)

    def issue(self, *names, expired=False):
        """A certificate for host names and addresses: Issued."""
        self._issued += 1
        now = datetime.datetime.now(datetime.UTC)
        made = self._ca.issue_cert(
            *names, not_after=now - datetime.timedelta(days=1)
            if expired else None)
        number = self._issued
        return Issued(
            self._write(f'{number}-certificate', *made.cert_chain_pems),
            self._write(f'{number}-key', made.private_key_pem),
            self._write(f'{number}-both', made.private_key_and_cert_chain_pem))

    def _write(self, name, *pems):
        path = self._directory / f'{name}.pem'
        path.write_bytes(b''.join(pem.bytes() for pem in pems))
        return str(path)


def server_context(issued, clients_of=None):
    """The ssl.SSLContext of a server.

    clients_of: Authority whose certificate each client has to show.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.both)
    if clients_of is not None:
        context.load_verify_locations(clients_of.file)
        context.verify_mode = ssl.CERT_REQUIRED
        # With 1.3 clients learn it after the handshake, in one way or another.
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context
