"""The arguments of calls, kept in little space."""

import collections.abc
import json


class Packed(collections.abc.Mapping):
    """The arguments of a call in one piece, unpacked whenever they are read.

    As plain objects they would take many times the memory, and make each of
    the garbage collector's rounds longer.
    """

    __slots__ = ('_bytes',)

    def __init__(self, arguments):
        self._bytes = json.dumps(arguments).encode()

    def __getitem__(self, name):
        return json.loads(self._bytes)[name]

    def __iter__(self):
        return iter(json.loads(self._bytes))

    def __len__(self):
        return len(json.loads(self._bytes))

    def __bytes__(self):
        return self._bytes

    @property
    def nbytes(self):
        """How many bytes they take."""
        return len(self._bytes)
