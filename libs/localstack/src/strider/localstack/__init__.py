"""A real Kafka, PostgreSQL and Valkey on this machine, with nothing but Python."""
