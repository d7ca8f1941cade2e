"""Parse pages from files, lists and sites, as the parser service parses them (`strider parse`)."""
