"""The record of sources for commands, and fields as they are typed."""
