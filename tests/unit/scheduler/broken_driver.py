"""A third party's module that cannot be imported."""

raise ZeroDivisionError('in the module')
