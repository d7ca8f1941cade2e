"""A crawl in one process (`strider crawl`): the services' topologies on a bus and a frontier in memory."""
