"""Errors in options that keep the service from running.

Doubtful values that do not are in ``warnings``.
"""

import os

from oslo_config import types

from nova_sched import exception
from nova_sched.conf import database
from nova_sched.conf import healthcheck
from nova_sched.conf import messaging
from nova_sched.conf import placement
from nova_sched.options import log_files
from nova_sched.options import nearest
from nova_sched.options import sections
from nova_sched.options import spelling

#: Minimum of libraries' options whose library declares none.
MINIMUM = {('DEFAULT', 'executor_thread_pool_size'): 1}


def errors(conf):
    """Return the errors that stop the service: list of ConfigurationError.

    Reads every option.  Names of drivers, filters and weighers are checked
    when these are loaded.
    """
    errors = _unreadable(conf)
    for test in (messaging.transport_url, messaging.own_notification_url,
                 messaging.lock_path, messaging.check_tls_files,
                 messaging.check_values, placement.check_tls_files,
                 database.database_url, database.api_database_url,
                 database.check_drivers, _check_plugin_path,
                 healthcheck.check_uris, *log_files.CHECKS,
                 _check_heartbeats):
        try:
            test(conf)
        except exception.ConfigurationError as error:
            errors.append(error)
        except sections.VALUE_ERRORS:
            pass    # reported by option already
    return errors


#: The same errors, by the names that the files give the options.
check = spelling.errors_as_in_files(errors)


def _check_heartbeats(conf):
    if conf.servicegroup_driver == 'mc':
        raise exception.ConfigurationError(
            '[DEFAULT] servicegroup_driver', 'mc', 'heartbeats in memcached '
            'are not available in this release; use db')


def _check_plugin_path(conf):
    for directory in conf.nova_sched.plugin_path:
        if not (os.path.isabs(directory) and os.path.isdir(directory)):
            raise exception.ConfigurationError(
                '[nova_sched] plugin_path', directory, 'no such directory; '
                'write the absolute path of a directory with plug-ins')


def _unreadable(conf):
    """Return the errors of options with malformed values: list."""
    errors = []
    known = sections.known_opts()
    for section, name in sections.registered_names(conf):
        opt = known.get((section, name))
        try:
            value = sections.value(conf, section, name)
        except sections.VALUE_ERRORS as exc:
            errors.append(_value_error(conf, section, name, opt, exc))
            continue
        if (hint := _refusal(section, opt, value)) is not None:
            errors.append(exception.ConfigurationError(
                f'[{section}] {name}', '' if value is None else value, hint))
    return errors


def _refusal(section, opt, value):
    """Return a hint on a value that is read but not usable, or None."""
    if opt is None:
        return None
    if (value is None and opt.default is not None
            and isinstance(opt.type, types.Number)):
        return (f'is empty and {expected(opt, "")}; take the line out for '
                f'the default, {opt.default}')
    least = MINIMUM.get((section, opt.dest))
    if least is not None and value < least:
        return f'must be a whole number, {least} or more'
    return None


def _value_error(conf, section, name, opt, exc):
    option = f'[{section}] {name}'
    written = opt and spelling.Spelling(conf).find_setting(section, opt)
    if written is None:
        return exception.ConfigurationError(
            option, 'as given outside the files', str(exc))
    text = written[-1]
    hint = (expected(opt, text)
            if not isinstance(exc, sections.SUBSTITUTION_ERRORS)
            else 'a $ begins the name of another option; write $$ for a $')
    return exception.ConfigurationError(
        option, '****' if opt.secret else text, hint)


def expected(opt, value):
    """Return a text about the values that an option accepts.

    value: text that it does not accept.
    """
    kind = opt.type
    choices = list(map(str, getattr(kind, 'choices', None) or ()))
    if choices:
        near = nearest.nearest(value, choices)
        return f'must be one of {", ".join(choices)}' + (
            f'; did you mean {near}?' if near else '')
    if isinstance(kind, types.Boolean):
        return 'must be true or false'
    if isinstance(kind, types.Number):
        words = ('must be a whole number' if isinstance(kind, types.Integer)
                 else 'must be a number')
        if kind.min is not None and kind.max is not None:
            return f'{words} from {kind.min} to {kind.max}'
        if kind.min is not None:
            return f'{words}, {kind.min} or more'
        return words
    return f'is no valid {kind.type_name}'
