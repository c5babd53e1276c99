"""Certificate authorities and certificates for tests of TLS."""

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
    """A certificate authority, trusted by processes with its file.

    directory: for its files.  file: path of its own certificate.
    """

    def __init__(self, directory):
        self._directory = pathlib.Path(directory)
        self._directory.mkdir()
        self._ca, self._issued = trustme.CA(), 0
        self.file = self._write('authority', self._ca.cert_pem)

    def issue(self, *names, expired=False):
        """Issue a certificate for host names and addresses."""
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

    clients_of: Authority of the required client certificates.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.both)
    if clients_of is not None:
        context.load_verify_locations(clients_of.file)
        context.verify_mode = ssl.CERT_REQUIRED
        # In TLS 1.3 a client's certificate is refused after the handshake, so
        # that errors of clients differ by timing.
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context
