"""What `strider parse` does: pages from files, lists and sites, read as the parser service reads them."""
