"""What a URL is: as found, its key, its origin, its scope. Pure."""
