"""Parse pages from files, lists and sites as the parser service does (`strider parse`)."""
