"""What is made of the declarations. Generated from `schemas/` by `python -m strider.contracts.codegen`; do not edit."""
