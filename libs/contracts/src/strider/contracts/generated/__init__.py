"""Code generated from the declarations. Generated from `schemas/` by `python -m strider.contracts.codegen`; do not edit."""
