"""The exceptions that plug-ins raise and catch.

tests/data/nova_exceptions.txt has a row for each: a call, its base class,
code and text.
"""

import pathlib

import pytest

from tests.builders import wild

ROWS = [line.split(' | ') for line in pathlib.Path(
    wild.DATA, 'nova_exceptions.txt').read_text().splitlines()]

pytestmark = pytest.mark.usefixtures('fresh_nova_names')


def test_text_is_made_of_keywords():
    from nova import exception

    class NoLicence(exception.NovaException):
        msg_fmt = 'no licence for %(product)s'

    assert str(NoLicence(product='x')) == 'no licence for x'
    assert str(NoLicence('as it is: %')) == 'as it is: %'
    assert NoLicence(product='x').format_message() == 'no licence for x'
    assert str(exception.HostNotFound()) == (
        'Host %(host)s could not be found.')


@pytest.mark.parametrize(('call', 'base', 'code', 'text'), ROWS)
def test_text_class_and_code_are_nova_s(call, base, code, text):
    from nova import exception
    error = eval(call, vars(exception))

    assert str(error) == text
    assert isinstance(error, getattr(exception, base))
    assert (error.code, type(error).__module__) == (
        int(code), 'nova.exception')
