"""Errors of the service as Nova 34's client receives them."""

import re

import oslo_messaging as messaging
import pytest

from nova_sched import exception
from tests.builders import messages
from tests.builders import requests
from tests.interop.conftest import Nova

pytestmark = pytest.mark.real

_REMOTE = exception.RemoteNovaException
#: Errors without a class in Nova.
UNKNOWN = (exception.DatabaseUnavailable('the database is away'),
           exception.PlacementError('Placement is away'))


def known():
    """Each error with a class in Nova, and one of Python's: list."""
    found = [KeyError('a plug-in looked for it')]
    for cls in vars(exception).values():
        if not (isinstance(cls, type) and cls is not _REMOTE
                and issubclass(cls, _REMOTE)):
            continue
        names = re.findall(r'%\((\w+)\)s', cls.msg_fmt)
        found.append(cls(**{name: f'the {name}' for name in names}))
    return found


class Fails:
    """An endpoint that raises the error that the caller names."""

    target = messaging.Target(version='4.5')

    def __init__(self, errors):
        self._errors = {type(error).__name__: error for error in errors}

    def select_destinations(self, ctxt, instance_uuids, **kwargs):
        raise self._errors[instance_uuids[0]]


def test_errors_have_nova_s_classes(stage):
    """An error without a class in Nova is a RemoteError."""
    errors = [*known(), *UNKNOWN]
    nova = Nova(stage.config_file('nova'))
    for error in errors:
        nova.will('select_destinations', requests.a_request(),
                  [type(error).__name__], return_objects=True)

    with messages.serving(stage.transport(), stage.conf, Fails(errors)):
        found = nova.answers()

    assert [answer['error'] for answer in found] == [
        'RemoteError' if error in UNKNOWN else type(error).__name__
        for error in errors]
    for error, answer in zip(errors, found, strict=True):
        assert error.args[0] in answer['text']
