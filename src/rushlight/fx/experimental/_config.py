"""Settings of PyTorch's symbolic sizes: they change nothing here."""

enrich_profiler_metadata = False
use_duck_shape = True
validate_shape_env_version_key = False
