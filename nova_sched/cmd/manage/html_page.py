"""The option ``--html`` of commands that explain decisions."""

import pathlib

from nova_sched.cmd.manage import exits
from nova_sched.page import writing


def add_argument(parser):
    """Add the option."""
    parser.add_argument(
        '--html', metavar='FILE',
        help='Also write an HTML page of the content of -f json, with all '
             'hosts: one file, which loads nothing from the network.')


def write(path, document):
    """Write the page of a document, a dict.  Raises WrongFile."""
    try:
        writing.write(path, document)
    except FileNotFoundError as error:
        raise exits.WrongFile(
            f'--html {path}: there is no directory '
            f'{pathlib.Path(path).absolute().parent}; make it, or name '
            'another file') from error
    except OSError as error:
        raise exits.WrongFile(
            f'--html {path}: it cannot be written: {error.strerror}; name '
            'another file') from error
