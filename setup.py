"""What pbr before 7.0 needs to find its way to setup.cfg."""

import setuptools

setuptools.setup(setup_requires=['pbr>=6.1.1'], pbr=True)
