"""Files of TLS that options name: authorities, certificates and keys."""

from nova_sched import exception


def check_readable(option, path):
    """Raise ConfigurationError if a file cannot be read.

    The libraries say of it that there is no such file, but not which.
    option: what names it, ``[group] name``.
    """
    try:
        with open(path, 'rb'):
            pass
    except OSError as error:
        raise exception.ConfigurationError(
            option, path, f'cannot be read: {error.strerror}') from error
