"""The amounts that a rule compares: needed by an instance, had by a host."""

import math
import typing

#: Kinds of a host's amount: free amount, total amount, free amount that must
#: be equal to the needed one, and number of items that may be added.
LEFT, TOTAL, EXACT, ROOM = 'left', 'in all', 'exactly', 'room'


class Figure(typing.NamedTuple):
    """A needed amount and the amount that a host has.

    what: name of the resource, such as 'RAM'.
    unit: unit of both amounts, such as 'MB'.
    need: a number.
    have: a number; for a HostBlock float64 (n,), where inf means no limit, and
        -inf or nan no amount.
    kind: LEFT, TOTAL, EXACT or ROOM.
    """

    what: str
    unit: str
    need: float
    have: typing.Any
    kind: str = LEFT

    @property
    def lacking(self):
        """The missing amount; negative if the host has more than needed."""
        return self.need - self.have

    @property
    def suffices(self):
        """Whether the amount suffices: bool, or bool (n,) for a block."""
        if self.kind == EXACT:
            return self.have == self.need
        return self.have >= self.need

    def of(self, place):
        """Return the figure of the host at a position of the block.

        None if the host has no limit, or no amount.
        """
        have = self.have.item(place)
        if not math.isfinite(have):
            return None
        return self._replace(have=int(have) if have.is_integer() else have)

    def to_dict(self):
        """Return the figure as plain JSON, with units in names of amounts."""
        unit = self.unit.lower().replace('/', '').replace(' ', '_')
        return {'what': self.what, 'kind': self.kind,
                f'need_{unit}': self.need, f'have_{unit}': self.have,
                f'lacking_{unit}': self.lacking}

    def __str__(self):
        if self.kind == ROOM:
            return (f'has {self._text(self.lacking)} too many' if
                    self.lacking > 0 else
                    f'has room for {self._text(self.have)}')
        exactly = 'exactly ' if self.kind == EXACT else ''
        of_it = '' if self.what == self.unit else f' of {self.what}'
        where = '' if exactly else f' {self.kind}'
        lacks = (f', lacks {self._text(self.lacking)}' if self.lacking > 0
                 else '')
        return (f'needs {exactly}{self._text(self.need)}{of_it}, has '
                f'{self._text(self.have)}{where}{lacks}')

    def _text(self, amount):
        return f'{amount:.12g} {self.unit}'
