"""A crawl in one process (`strider crawl`): the topologies on an in-process bus."""
