"""Files of log_config_append, as deployment tools write them."""

_FILE = """
[loggers]
keys = {loggers}
[handlers]
keys = stdout, null
[formatters]
keys = plain
[handler_stdout]
class = StreamHandler
args = (sys.stdout,)
formatter = plain
[handler_null]
class = logging.NullHandler
args = ()
formatter = plain
[formatter_plain]
format = %(levelname)s %(name)s %(message)s
[logger_root]
level = WARNING
handlers = {root}
"""
_LOGGER = """
[logger_{key}]
level = INFO
handlers = {handlers}
qualname = {name}
propagate = {propagate}
"""


def a_file(directory, root='null', propagate=1, **loggers):
    """Write a file with this handler of the root logger; return its path.

    loggers: name of another logger, with __ for a dot -> its handlers.
    """
    path = directory / 'logging.conf'
    path.write_text(
        _FILE.format(loggers=', '.join(['root', *loggers]), root=root)
        + ''.join(_LOGGER.format(
            key=key, handlers=handlers, name=key.replace('__', '.'),
            propagate=propagate) for key, handlers in loggers.items()))
    return path
