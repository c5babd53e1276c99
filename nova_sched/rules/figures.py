"""The amounts that a rule compares: what an instance needs, a host has."""

import math
import typing

#: What a host has of something: what others leave, all that is there, what
#: must be just so much, and how many more may be counted.
LEFT, TOTAL, EXACT, ROOM = 'left', 'in all', 'exactly', 'room'


class Figure(typing.NamedTuple):
    """What an instance needs of something, and what a host has of it.

    what: its name, as in 'RAM'.  unit: of both amounts, as in 'MB'.
    need: a number.  have: a number; of the hosts of a HostBlock float64 (n,),
        in which inf is no limit, and -inf or nan no amount.
    kind: LEFT, TOTAL, EXACT or ROOM.
    """

    what: str
    unit: str
    need: float
    have: typing.Any
    kind: str = LEFT

    @property
    def lacking(self):
        """How much more a host would have to have; less than 0 is spare."""
        return self.need - self.have

    @property
    def suffices(self):
        """Whether that is enough: bool, or of each host bool (n,)."""
        if self.kind == EXACT:
            return self.have == self.need
        return self.have >= self.need

    def of(self, place):
        """Return the figure of one host of a block, by its place there.

        None if the host has no limit, or no amount.
        """
        have = self.have.item(place)
        if not math.isfinite(have):
            return None
        return self._replace(have=int(have) if have.is_integer() else have)

    def to_dict(self):
        """Return it as plain JSON, with the unit in the names of amounts."""
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
