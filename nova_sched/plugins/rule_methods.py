"""Checks of the methods of filters and weighers, without calls of them."""

import dis
import inspect

#: Method -> its arguments.
_ARGUMENTS = {
    'host_passes': ('host_state', 'spec_obj'),
    '_filter_one': ('obj', 'spec_obj'),
    'filter_all': ('filter_obj_list', 'spec_obj'),
    'mask': ('hosts', 'spec_obj'), 'keep': ('hosts', 'spec_obj'),
    '_weigh_object': ('host_state', 'weight_properties'),
    'weigh_objects': ('weighed_obj_list', 'weight_properties'),
    'column': ('hosts', 'spec_obj'), 'raw': ('hosts', 'spec_obj')}


def fault(plugin, names):
    """Return the fault of a rule's methods: text, '' without one.

    plugin: a filter or weigher.  names: of the methods to check.
    """
    for name in names:
        method, arguments = getattr(plugin, name), _ARGUMENTS[name]
        if not _takes(method, arguments):
            return (f'its {name}{inspect.signature(method)} is called with '
                    f'({", ".join(arguments)}); give it these arguments')
        if _returns_nothing(method):
            return (f'its {name} never returns a value; is a return '
                    'statement missing?')
    return ''


def _takes(method, arguments):
    try:
        inspect.signature(method).bind(*arguments)
    except TypeError:
        return False
    except ValueError:
        # A method that is not written in Python cannot be checked.
        return True
    return True


def _returns_nothing(method):
    """Return whether all that a method returns, if it does, is None."""
    function = inspect.unwrap(getattr(method, '__func__', method))
    if not inspect.isfunction(function) or inspect.isgeneratorfunction(
            function):
        return False
    found, before = [], None
    for each in dis.get_instructions(function):
        if each.opname == 'RETURN_CONST':
            found.append(each.argval is None)
        elif each.opname == 'RETURN_VALUE':
            found.append(before.opname == 'LOAD_CONST'
                         and before.argval is None)
        before = each
    return bool(found) and all(found)
