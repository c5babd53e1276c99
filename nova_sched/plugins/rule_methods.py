"""Checks of the methods of filters and weighers, without calling them."""

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
    """Return whether every return of a method returns None."""
    function = inspect.unwrap(getattr(method, '__func__', method))
    if not inspect.isfunction(function) or inspect.isgeneratorfunction(
            function):
        return False
    returns_none, before = [], None
    for instruction in dis.get_instructions(function):
        if instruction.opname == 'RETURN_CONST':
            returns_none.append(instruction.argval is None)
        elif instruction.opname == 'RETURN_VALUE':
            returns_none.append(before.opname == 'LOAD_CONST'
                                and before.argval is None)
        before = instruction
    return bool(returns_none) and all(returns_none)
