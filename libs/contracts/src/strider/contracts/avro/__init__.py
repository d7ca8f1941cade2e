"""Avro encoding and decoding of events: schemas, framing, compiled codecs, limits, compatibility."""
