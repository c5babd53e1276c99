"""The releases of Nova, and the options of each release."""

import dataclasses
import functools
import re
import typing

from nova_sched import toml_files
from nova_sched.conf import nova_sched
from nova_sched.options import files
from nova_sched.options import known_options
from nova_sched.options import sections

#: Numbers of the first and the last release: Kilo and 2026.2.
FIRST, LAST = 11, 34

#: The first release that is named by its date.
_BY_DATE = 27


def _table(name):
    return toml_files.read('releases.toml', __package__)[name]


@dataclasses.dataclass(frozen=True, order=True)
class Release:
    """A release of Nova; number: 17 for 17.0.13 or Queens.

    Kilo, which has no such number, has 11.
    """

    number: int

    @property
    def date(self):
        """Year and half of the year: text such as 2018.1."""
        year, half = divmod(self.number - FIRST, 2)
        return f'{2015 + year}.{half + 1}'

    def __str__(self):
        if self.number == FIRST:
            return '2015.1 (Kilo)'
        name = (_table('names')[self.number - FIRST].title()
                if self.number < _BY_DATE else self.date)
        return f'{self.number}.0.0 ({name})'


def find(text):
    """Return the Release of a name, a number or a date, in any spelling.

    queens, stable/queens, 17, 17.0.13, 2018.1 and 17.0.0 (Queens) are equal.
    Raises ValueError for a text that is no release from Kilo to 2026.2.
    """
    word = text.strip().lower().rpartition('/')[2]
    if word in _table('names'):
        return Release(FIRST + _table('names').index(word))
    if match := re.match(r'(20\d\d)\.([12])(?![0-9])', word):
        year, half = map(int, match.groups())
        number = FIRST + 2 * (year - 2015) + half - 1
    else:
        match = re.match(r'(\d{2})(?![0-9])', word)
        number = int(match[1]) if match else 0
    if not FIRST <= number <= LAST:
        raise ValueError(
            f'{text} is no release of Nova from Kilo to {Release(LAST).date};'
            f' write a name, a number or a date: queens, 17 or 2018.1')
    return Release(number)


def span(text):
    """Return the numbers of the releases that a table names: range.

    text: ``queens``, ``rocky..2023.1``, ``..zed``, ``pike..`` or ``..``.
    Raises ValueError like ``find``.
    """
    first, dots, last = text.partition('..')
    start = find(first).number if first else FIRST
    if last:
        return range(start, find(last).number + 1)
    return range(start, (LAST if dots else start) + 1)


@functools.cache
def _spans(kind):
    """Return a table of releases.toml: dict option or section -> range."""
    return {name: span(text) for name, text in _table(kind).items()}


def first(section, name):
    """Return the number of the release that introduced an option."""
    return _spans('eras').get(f'[{section}] {name}', (FIRST,))[0]


def has(release, section, name):
    """Return whether a release has an option, under any name."""
    eras = _spans('eras')
    return section != nova_sched.GROUP and all(
        release.number in eras[place]
        for place in (f'[{section}]', f'[{section}] {name}') if place in eras)


def reads(release, option):
    """Return whether a release reads an option under its Written name."""
    section, moved = option.section, _spans('moved')
    if not has(release, section, option.opt.dest):
        return False
    era = moved.get(f'[{section}] {option.opt.dest}',
                    moved.get(f'[{section}]'))
    if era is None:
        return True
    return (release.number >= era[0] if option.place == section
            else release.number <= era[-1])


class Written(typing.NamedTuple):
    """An option that a file sets.

    section: its current section.  place, name: section and name as written,
    which may be older ones.
    """

    section: str
    opt: object
    place: str
    name: str

    def __str__(self):
        return f'[{self.place}] {self.name}'


def written(conf):
    """Return the options that the files set: list of Written."""
    raw = files.raw_sections(conf)
    return [Written(section, opt, place, name)
            for (section, _dest), opt in sections.known_opts().items()
            for place, name in dict.fromkeys(sections.places(section, opt))
            if raw.get(place, {}).get(name)]


def not_read(given, release):
    """Return the options of a list of Written that a release ignores."""
    return sorted({str(option) for option in given
                   if not reads(release, option)})


def ignored_here(given, release):
    """Return the options of a list of Written that only a release uses."""
    ignored = set(known_options.ignored())
    return sorted({str(option) for option in given
                   if (option.section, option.opt.dest) in ignored
                   and reads(release, option)})


def of_service(version):
    """Return the Release of a service version, or None."""
    name = _table('services').get(str(version))
    return name and find(name)
