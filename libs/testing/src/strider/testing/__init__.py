"""Test infrastructure: real servers, faulty connections, proxies and websites."""
