"""Flavor and image of a request, and whether they agree.

Nothing here fills in fields that a request came without.
"""

from oslo_utils import strutils

from nova_sched import objects
from nova_sched.objects.fields import MalformedError


def given(obj, name, default=None):
    """A field of an object, or the default while it is unset or None."""
    value = getattr(obj, name) if obj.obj_attr_is_set(name) else None
    return default if value is None else value


class Wishes:
    """What flavor and image ask for by name.

    extra_specs: dict of text.  image: ImageMetaProps.
    """

    def __init__(self, spec_obj):
        self.vcpus = spec_obj.flavor.vcpus
        self.extra_specs = given(spec_obj.flavor, 'extra_specs', {})
        image = spec_obj.image
        self.image = (image and given(image, 'properties')
                      ) or objects.ImageMetaProps()

    def flavor(self, key, choices=None):
        """An extra spec; None if there is none, or it is empty.

        Raises InvalidInput if it is none of the choices.
        """
        value = self.extra_specs.get(key) or None
        if value is not None and choices and value not in choices:
            raise refused(f'must be one of {", ".join(choices)}', value, key)
        return value

    def flag(self, key):
        """An extra spec as truth value; None if there is none.

        What is no word for yes is no, as in Nova.
        """
        value = self.flavor(key)
        return value and strutils.bool_from_string(value)

    def agreed(self, key, name, choices):
        """What extra spec or image property say; None if neither does.

        Raises InvalidInput if they differ, or the extra spec is none of the
        choices.
        """
        mine, image = self.flavor(key, choices), self.image.get(name)
        if mine is not None and image is not None and mine != image:
            raise self.differs(key, name)
        return image if mine is None else mine

    def differs(self, key, name):
        """The InvalidInput for a flavor and an image that contradict."""
        return refused(
            f"must not differ from the image's {name} = "
            f'{self.image.get(name)!r}; change one of them',
            self.extra_specs[key], key)


def refused(must, value, key):
    """The InvalidInput for the value of an extra spec."""
    return MalformedError(
        value, must, 'flavor', 'extra_specs', key).as_invalid_input()


def image_refused(must, value, name):
    """The InvalidInput for the value of an image property."""
    return MalformedError(
        value, must, 'image', 'properties', name).as_invalid_input()
