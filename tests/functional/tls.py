"""A RabbitMQ and a MariaDB with TLS, with certificates of a test's own."""

import pathlib
import shutil
import uuid

import sqlalchemy as sa

from tests.functional import mariadb
from tests.functional import ports
from tests.functional import rabbitmq

PASSWORD = 'p4ss-over-tls'


class RabbitMQ(rabbitmq.Driver):
    """A RabbitMQ that requires client certificates; not running yet.

    authority: Authority of its clients.  issued: its own authority.Issued.
    start, end: as of other servers.
    """

    def __init__(self, authority, issued):
        self.tls_port = ports.free_port()
        super().__init__(
            f'listeners.ssl.1 = 127.0.0.1:{self.tls_port}',
            f'ssl_options.cacertfile = {authority.file}',
            f'ssl_options.certfile = {issued.certificate}',
            f'ssl_options.keyfile = {issued.key}',
            'ssl_options.verify = verify_peer',
            # In TLS 1.3 a client's certificate is refused after the
            # handshake, so that errors of clients differ by timing.
            'ssl_options.versions.1 = tlsv1.2',
            'ssl_options.fail_if_no_peer_cert = true',
            port=ports.free_port(), password=PASSWORD,
            nodename=f'nova-sched-{uuid.uuid4().hex[:8]}',
            env_prefix='NOVA_SCHED_TLS_RABBIT')
        self.start, self.end = self.setUp, self.cleanUp

    def start_node(self, nodename):
        self.env['RABBITMQ_DIST_PORT'] = str(ports.free_port())
        return super().start_node(nodename)

    def url(self, host='localhost', port=None):
        """For oslo.messaging."""
        return (f'rabbit://{self.username}:{PASSWORD}@{host}:'
                f'{port or self.tls_port}/')


class MariaDB(mariadb.MariaDB):
    """A MariaDB on a port that requires TLS and client certificates.

    name: of its one database.  directory: for its certificate.
    authority: Authority of its clients.
    """

    def __init__(self, name, directory, authority):
        self.tls_port, self._files = ports.free_port(), pathlib.Path(directory)
        super().__init__(
            name, '--skip-networking=0', '--bind-address=127.0.0.1',
            f'--port={self.tls_port}', '--require-secure-transport=ON',
            f'--ssl-ca={authority.file}',
            f'--ssl-cert={self._files / "certificate"}',
            f'--ssl-key={self._files / "key"}')

    def start(self, issued):
        """Start with a certificate, authority.Issued, and an account."""
        self._copy(issued)
        super().start()
        self.execute(f"CREATE USER tls@'%%' IDENTIFIED BY '{PASSWORD}' "
                     'REQUIRE X509')
        self.execute("GRANT ALL ON *.* TO tls@'%%'")

    def show(self, issued):
        """Use another certificate, authority.Issued, from now on."""
        self._copy(issued)
        self.execute('FLUSH SSL')

    def _copy(self, issued):
        shutil.copy(issued.certificate, self._files / 'certificate')
        shutil.copy(issued.key, self._files / 'key')

    def tls_url(self, host='localhost', **query):
        """SQLAlchemy URL of its database over TLS.

        query: ssl_ca and the like.
        """
        return sa.make_url(
            f'mysql+pymysql://tls:{PASSWORD}@{host}:{self.tls_port}/'
            f'{self._name}').update_query_dict(query).render_as_string(
                hide_password=False)
