"""What `strider parser` does: site parsers written, tested, tried, compared and audited."""
