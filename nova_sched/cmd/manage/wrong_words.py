"""One-line errors for unknown words of a command line."""

import itertools

from nova_sched.cmd.manage import exits
from nova_sched.options import nearest

_UNKNOWN = 'unrecognized arguments: '


def short(parser):
    """Return a parser with errors of one line, without the usage."""
    def error(message):
        unknown = message.removeprefix(_UNKNOWN)
        if unknown != message:
            near = nearest.nearest(unknown.split()[0].partition('=')[0],
                                   parser._option_string_actions)
            message += f'; did you mean {near}?' if near else ''
        parser.exit(exits.WRONG, f'{parser.prog}: error: {message}; see '
                                 f'"{parser.prog} --help"\n')
    parser.error = error
    return parser


def no_command(program, argv, names):
    """Return the error for a command line that begins with no command.

    program: its name.  names: of all commands.
    """
    words = list(itertools.takewhile(
        lambda word: not word.startswith('-'), argv)) or argv[:1]
    typed = ' '.join(words)
    similar = sorted(name for name in names if words[0] in name.split())
    if len(words) > 1 or not similar:
        best = nearest.nearest(' '.join(words[:2]), similar or names)
        similar = [best] if best else similar
    return (f'{program}: {typed} is no command; ' + (
        f'did you mean {" or ".join(similar)}?' if similar else
        f'see "{program} --help"'))
