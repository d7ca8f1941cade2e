"""Read structured data: JSON-LD, microdata, RDFa, JavaScript objects, page entities."""
