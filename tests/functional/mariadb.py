"""A private MariaDB that can be stopped, hung and restarted."""

import contextlib
import pathlib
import shutil
import signal
import subprocess
import tempfile

import sqlalchemy as sa

from tests.functional import processes
from tests.functional import shared

_SERVER = '/usr/sbin/mariadbd'


def _installed():
    """A data directory as before the first start, to be copied."""
    path = shared.folder() / 'mariadb'
    subprocess.run(
        ['mariadb-install-db', '--no-defaults', '--user=root',
         '--skip-test-db', '--auth-root-authentication-method=normal',
         f'--datadir={path}'],
        check=True, stdout=subprocess.DEVNULL)
    return path


class MariaDB:
    """A server on a socket in a directory; not running yet.

    name: of its one database.  options: of the server's command line.
    url: SQLAlchemy URL of the database.
    """

    def __init__(self, name, *options):
        # A socket's path may have only some 100 characters.
        self._directory = pathlib.Path(tempfile.mkdtemp(prefix='mariadb-'))
        self._socket = self._directory / 'socket'
        self._process, self._name, self._options = None, name, options
        shutil.copytree(shared.once('installed-mariadb', _installed),
                        self._directory / 'data')
        server = ('mysql+pymysql://root@localhost/{}?unix_socket='
                  f'{self._socket}')
        self._server, self.url = server.format(''), server.format(name)

    def start(self):
        """Start the server and create the database."""
        self._process = subprocess.Popen(
            [_SERVER, '--no-defaults', '--user=root', '--skip-networking',
             f'--datadir={self._directory / "data"}',
             f'--socket={self._socket}',
             f'--pid-file={self._directory / "pid"}',
             '--innodb-buffer-pool-size=16M', *self._options],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        processes.until(self._answers, 'MariaDB answers')

    def _answers(self):
        engine = sa.create_engine(self._server)
        with contextlib.suppress(sa.exc.OperationalError):
            with engine.begin() as connection:
                connection.exec_driver_sql(
                    f'CREATE DATABASE IF NOT EXISTS {self._name}')
            engine.dispose()
            return True
        return False

    def stop(self):
        """Stop the server as an operator does."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(processes.PATIENCE)

    def execute(self, statement):
        """Run a statement as administrator."""
        engine = sa.create_engine(self.url)
        with engine.begin() as connection:
            connection.exec_driver_sql(statement)
        engine.dispose()

    def cut(self):
        """End all connections, as a proxy at a failover."""
        engine = sa.create_engine(self._server)
        with engine.connect() as connection:
            for thread in connection.exec_driver_sql(
                    'SELECT id FROM information_schema.processlist '
                    'WHERE id != connection_id()').scalars():
                with contextlib.suppress(sa.exc.OperationalError):
                    connection.exec_driver_sql(f'KILL {thread}')
        engine.dispose()

    def hang(self):
        """Make it accept connections and answer nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self):
        self._process.send_signal(signal.SIGCONT)

    def end(self):
        """Kill the server and remove its files."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)
