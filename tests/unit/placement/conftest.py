"""A Placement over HTTP, and clients of it."""

import functools

import pytest

from tests.builders import http_claims
from tests.builders import http_placement


@pytest.fixture
def placement():
    """A Server that plays Placement."""
    with http_placement.placement() as server:
        yield server


@pytest.fixture
def client(placement, tmp_path):
    """A client of it that logs in with a token of its own."""
    return http_placement.client(
        tmp_path, auth_type='admin_token', token='token-of-the-service',
        endpoint=placement.url)


@pytest.fixture
def client_of(tmp_path):
    """Function of options of [placement] that makes a client."""
    return functools.partial(http_placement.client, tmp_path)


@pytest.fixture
def scene(placement, tmp_path):
    """A Scene before it."""
    return http_claims.Scene(tmp_path, placement)
