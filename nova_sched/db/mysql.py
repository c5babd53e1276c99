"""PyMySQL connections that share one TLS context."""

from pymysql import connections


class Connection(connections.Connection):
    """A connection with a shared TLS context if no TLS option is set.

    By default PyMySQL reads all trusted certificates of the system for each
    connection, which takes 40 ms, and then verifies none.
    """

    _preferred = None

    def _create_ssl_ctx(self, sslp):
        if sslp:
            return super()._create_ssl_ctx(sslp)
        if Connection._preferred is None:
            Connection._preferred = super()._create_ssl_ctx(sslp)
        return Connection._preferred
