"""TLS to Placement, by [placement] cafile, certfile, keyfile and insecure.

It requires client certificates and has a certificate for ``localhost``.
"""

import pytest

from tests.builders import authority
from tests.builders import http_placement
from tests.builders import https
from tests.builders.http_placement import Query


@pytest.fixture(scope='module')
def ours(tmp_path_factory):
    """The trusted Authority."""
    return authority.Authority(tmp_path_factory.mktemp('tls') / 'ours')


@pytest.fixture(scope='module')
def theirs(tmp_path_factory):
    """An untrusted Authority."""
    return authority.Authority(tmp_path_factory.mktemp('tls') / 'theirs')


@pytest.fixture
def serve(ours):
    """Function that runs a Placement with a certificate."""
    def serve(*names, **kwargs):
        return http_placement.placement(server=https.Server(
            ours.issue(*names, **kwargs), clients_of=ours))
    return serve


@pytest.fixture
def ask(ours, tmp_path):
    """Function that queries a Placement with options."""
    client = ours.issue('scheduler')

    def ask(placement, **options):
        return http_placement.client(tmp_path, **{
            'auth_type': 'admin_token', 'token': 't',
            'endpoint': placement.url, 'cafile': ours.file,
            'certfile': client.certificate, 'keyfile': client.key,
            **options}).candidates([Query()], http_placement.CONTEXT)
    return ask


def test_insecure_accepts_any_certificate(serve, ask, theirs):
    with serve('elsewhere', expired=True) as placement:
        ask(placement, insecure='true', cafile=theirs.file)

        assert placement.to('GET', '/allocation_candidates')


@pytest.mark.parametrize(('issued', 'options', 'words'), [
    ({}, {'cafile': 'theirs'}, 'self-signed certificate in certificate chain'),
    ({'expired': True}, {}, 'certificate has expired'),
    ({'names': ['elsewhere']}, {},
     "certificate is not valid for 'localhost'"),
    ({}, {'certfile': '', 'keyfile': ''}, 'handshake failure'),
    ({}, {'cafile': '/no/such.pem'}, '/no/such.pem'),
    ({}, {'certfile': '/no/such.pem'}, '/no/such.pem'),
], ids=['authority', 'expired', 'name', 'no certificate', 'no file',
        'no file of its own'])
def test_tls_failure_is_explained(serve, ask, theirs, issued, options, words):
    if options.get('cafile') == 'theirs':
        options = {'cafile': theirs.file}
    names = issued.get('names', ['localhost'])
    with serve(*names, expired=issued.get('expired', False)) as placement:
        found = ask(placement, **options)

        assert words in found.reason
        assert not placement.asked
