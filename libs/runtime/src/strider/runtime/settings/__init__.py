"""Settings: classes, value types, loading from file and environment, help texts."""
