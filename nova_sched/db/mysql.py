"""PyMySQL's connections, without what each would do again."""

from pymysql import connections


class Connection(connections.Connection):
    """A connection that shares what it knows of TLS, where it may use TLS.

    Without any option about TLS, PyMySQL reads all certificates that the
    system trusts, 40 ms of a processor's time for each connection, and trusts
    any.
    """

    _preferred = None

    def _create_ssl_ctx(self, sslp):
        if sslp:
            return super()._create_ssl_ctx(sslp)
        if Connection._preferred is None:
            Connection._preferred = super()._create_ssl_ctx(sslp)
        return Connection._preferred
