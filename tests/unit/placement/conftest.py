"""Placement over HTTP and its clients."""

import functools

import pytest

from tests.builders import http_claims
from tests.builders import http_placement


@pytest.fixture
def placement():
    """A Placement over HTTP."""
    with http_placement.placement() as server:
        yield server


@pytest.fixture
def client(placement, tmp_path):
    """A client with a static token."""
    return http_placement.client(
        tmp_path, auth_type='admin_token', token='token-of-the-service',
        endpoint=placement.url)


@pytest.fixture
def client_of(tmp_path):
    """Function that makes a client with options of [placement]."""
    return functools.partial(http_placement.client, tmp_path)


@pytest.fixture
def scene(placement, tmp_path):
    """A Scene with this Placement."""
    return http_claims.Scene(tmp_path, placement)
