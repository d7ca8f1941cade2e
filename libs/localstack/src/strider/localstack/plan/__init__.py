"""The plan of a stack: desired state, services, ports and endpoints."""
