"""History of a URL (`strider why`) and the steps of its decision now (`strider explain`)."""
