"""What flavor and image of a request require, and whether they agree.

A field that the request does not have stays unset.
"""

from oslo_utils import strutils

from nova_sched import objects
from nova_sched.objects.fields import MalformedError


def get_set(obj, name, default=None):
    """Return a field of an object, or the default if it is unset or None."""
    value = getattr(obj, name) if obj.obj_attr_is_set(name) else None
    return default if value is None else value


class FlavorImageRequirements:
    """The requirements of a flavor and an image, by name.

    extra_specs: dict of text.  image: ImageMetaProps.
    """

    def __init__(self, spec_obj):
        self.vcpus = spec_obj.flavor.vcpus
        self.extra_specs = get_set(spec_obj.flavor, 'extra_specs', {})
        image = spec_obj.image
        self.image = (image and get_set(image, 'properties')
                      ) or objects.ImageMetaProps()

    def flavor(self, key, choices=None):
        """Return an extra spec; None if there is none, or it is empty.

        Raises InvalidInput if it is none of the choices.
        """
        value = self.extra_specs.get(key) or None
        if value is not None and choices and value not in choices:
            raise invalid_extra_spec(
                f'must be one of {", ".join(choices)}', value, key)
        return value

    def flag(self, key):
        """Return an extra spec as a truth value; None if there is none.

        As in Nova, whatever is no word for yes is false.
        """
        value = self.flavor(key)
        return value and strutils.bool_from_string(value)

    def agreed(self, key, name, choices):
        """Return what extra spec or image property say; None if neither does.

        Raises InvalidInput if they differ, or the extra spec is none of the
        choices.
        """
        mine, image = self.flavor(key, choices), self.image.get(name)
        if mine is not None and image is not None and mine != image:
            raise self.differs(key, name)
        return image if mine is None else mine

    def agreed_flag(self, key, name):
        """Return ``agreed`` for truth values; False if both say nothing.

        Raises InvalidInput if they differ.
        """
        flavor, image = self.flag(key), self.image.get(name)
        if flavor is not None and image is not None and flavor != image:
            raise self.differs(key, name)
        return bool(flavor or image)

    def differs(self, key, name):
        """Return the InvalidInput for a flavor and an image that differ."""
        return invalid_extra_spec(
            f"must not differ from the image's {name} = "
            f'{self.image.get(name)!r}; change one of them',
            self.extra_specs[key], key)


def invalid_extra_spec(must, value, key):
    """Return the InvalidInput for the value of an extra spec."""
    return MalformedError(
        value, must, 'flavor', 'extra_specs', key).as_invalid_input()


def invalid_image_property(must, value, name):
    """Return the InvalidInput for the value of an image property."""
    return MalformedError(
        value, must, 'image', 'properties', name).as_invalid_input()
