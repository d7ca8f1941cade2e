"""Other crawlers, as their documentation would write them: an item and the links of each page, robots on."""
