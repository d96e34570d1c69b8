"""What every other room needs: types, devices, names, errors, printing."""

import os

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
"""The folder of the package: files below it are the library's, and no program's."""
