"""Formulas: syntax, parser, semantics by definition, normal forms."""
