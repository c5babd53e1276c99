"""How options are written: misspelt, twice, or under an older name.

Options that belong to other services are nobody's mistake: the file may be
the real nova.conf.
"""

from oslo_config import cfg

from nova_sched.conf import nova_sched
from nova_sched.options import checking
from nova_sched.options import files
from nova_sched.options import nearest
from nova_sched.options import sections

#: How like one of ours a name must be to be taken for it, misspelt.
_LIKE = 0.85
#: In sections that other services have no options in, though plug-ins may.
_LIKE_IN_OURS = 0.7
_OURS = ('scheduler', 'filter_scheduler', 'metrics', 'trusted_computing')

#: Sections of Nova that are like one of ours, and are meant.
_NOT_OURS = ('placement_database',)


def _places():
    """Where files may give our options: dict section -> set of names."""
    ours = {}
    for (section, _dest), opt in sections.known_opts().items():
        for place, name in sections.places(section, opt):
            ours.setdefault(place, set()).add(name)
    return ours


def unknown_options(conf):
    """Options in the files that are probably ours, misspelt.

    Returns a list of (section, name as written, nearest right name): close
    matches in sections that are ours, and all that is unknown in
    [nova_sched], which nobody else reads.  The right name has its section
    where that is another one.
    """
    ours, registered = _places(), set(checking.option_names(conf))
    found, elsewhere = [], _elsewhere()
    for section, values in files.raw_sections(conf).items():
        known = ours.get(section, set())
        for name in values:
            if name in known or (section, name) in registered:
                continue
            near = nearest.nearest(name, known, _cutoff(section))
            if section in ('DEFAULT', *_OURS):
                near = elsewhere.get(name, near)
            if near is not None:
                found.append((section, name, near))
    return found


def _elsewhere():
    """Names that belong to one of our sections, and may be in another.

    Dict of names, alone and behind that of their section, as documents print
    metrics_weight_setting -> '[section] name'.
    """
    return {name: f'[{section}] {dest}'
            for section, dest in sections.known_opts() if section in _OURS
            for name in (dest, f'{section}_{dest}')}


def _cutoff(section):
    if section == nova_sched.GROUP:
        return 0
    return _LIKE_IN_OURS if section in _OURS else _LIKE


def oddities(conf):
    """What the files say that does not count as it is written: sentences."""
    return [*_misspelt_sections(conf), *_repeated(conf), *_older_names(conf)]


def _misspelt_sections(conf):
    ours = _places()
    for section, values in files.raw_sections(conf).items():
        if section in ours or section in _NOT_OURS:
            continue
        near = nearest.nearest(section, ours, _LIKE)
        if near is not None:
            yield (f'[{section}] is no section, and nobody reads its '
                   f'{", ".join(values)}; did you mean [{near}]?')


def _repeated(conf):
    """Sentences on options that one file gives twice."""
    single = {place for (section, _dest), opt in sections.known_opts().items()
              if not isinstance(opt, cfg.MultiOpt)
              for place in sections.places(section, opt)}
    for path in files.config_files(conf):
        for section, values in files.sections_of(path).items():
            for name, texts in values.items():
                if len(texts) > 1 and (section, name) in single:
                    yield (f'[{section}] {name} stands in {path} '
                           f'{len(texts)} times; only the last counts')


def _older_names(conf):
    """One sentence on all options that have newer names, or will go."""
    raw, found = files.raw_sections(conf), []
    for (section, dest), opt in sections.known_opts().items():
        for place, name in dict.fromkeys(sections.places(section, opt)):
            if name not in raw.get(place, {}):
                continue
            if place != section or name not in (dest, opt.name):
                found.append(f'[{place}] {name} (now [{section}] {dest})')
            elif opt.deprecated_for_removal:
                found.append(f'[{place}] {name}')
    if found:
        yield ('These options are deprecated, and count all the same: '
               + ', '.join(found))
