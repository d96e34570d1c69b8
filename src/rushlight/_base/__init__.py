"""What every other room needs: types, devices, names, errors, printing."""
