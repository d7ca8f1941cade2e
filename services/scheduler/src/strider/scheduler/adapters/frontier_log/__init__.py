"""Frontier log: the topics frontier and hosts, written in transactions and read at takeover."""
