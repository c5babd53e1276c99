"""PyMySQL connections that share one TLS context."""

import ssl

import trustme

from nova_sched.db import mysql


def made(**kwargs):
    return mysql.Connection(defer_connect=True, **kwargs)


def test_connections_without_tls_options_share_a_context():
    first, second = made(), made()

    assert first.ctx is second.ctx
    assert first.ctx.verify_mode == ssl.CERT_NONE


def test_connection_with_tls_options_has_its_own_context(tmp_path):
    path = tmp_path / 'ca.pem'
    trustme.CA().cert_pem.write_to_path(path)

    first, second = (made(ssl_ca=str(path), ssl_verify_cert=True)
                     for _ in range(2))
    assert first.ctx is not second.ctx
    assert first.ctx.verify_mode == ssl.CERT_REQUIRED


def test_connection_without_tls_has_no_context():
    assert not made(ssl_disabled=True).ssl
