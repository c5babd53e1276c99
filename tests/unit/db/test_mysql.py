"""PyMySQL's connections, without what each would do again."""

import ssl

import trustme

from nova_sched.db import mysql


def made(**kwargs):
    return mysql.Connection(defer_connect=True, **kwargs)


def test_connections_that_may_use_tls_share_what_they_know_of_it():
    first, second = made(), made()

    assert first.ctx is second.ctx
    assert first.ctx.verify_mode == ssl.CERT_NONE


def test_a_connection_that_must_has_its_own(tmp_path):
    path = tmp_path / 'ca.pem'
    trustme.CA().cert_pem.write_to_path(path)

    first, second = (made(ssl_ca=str(path), ssl_verify_cert=True)
                     for _ in range(2))
    assert first.ctx is not second.ctx
    assert first.ctx.verify_mode == ssl.CERT_REQUIRED


def test_a_connection_without_tls_knows_nothing_of_it():
    assert not made(ssl_disabled=True).ssl
