"""Avro encoding and decoding of events: schemas, framing, codecs, limits."""
