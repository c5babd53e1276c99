"""JSON files that a command line names."""

import json
import pathlib

from nova_sched.cmd.manage import exits


def read(path, option=''):
    """Return the content of a JSON file.

    option: option that names the file, with a trailing blank, for the error.
    Raises WrongFile for a file that cannot be read, or is not JSON.
    """
    try:
        return json.loads(pathlib.Path(path).read_text())
    except OSError as error:
        why = f'it cannot be read: {error.strerror}'
    except RecursionError:
        why = 'its lists and objects are nested too deep'
    except ValueError as error:
        why = f'it is not JSON: {error}'
    raise exits.WrongFile(f'{option}{path}: {why}')
