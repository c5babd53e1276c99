"""What pbr needs beyond setup.cfg: a version where git cannot tell one."""

import configparser
import os
import pathlib

import setuptools

TOP = pathlib.Path(__file__).parent

# A tree out of an archive is neither a clone nor an sdist.
if not any((TOP / name).exists() for name in ('.git', 'PKG-INFO')):
    described = configparser.ConfigParser()
    described.read(TOP / 'setup.cfg')
    os.environ.setdefault('PBR_VERSION',
                          described['metadata']['version'] + '.dev0')

setuptools.setup(setup_requires=['pbr>=6.1.1'], pbr=True)
