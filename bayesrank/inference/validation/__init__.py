"""Cross-validation, and many problems fitted with one model."""
