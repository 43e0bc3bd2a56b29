"""Readers: tables, files and lists, checked and brought onto axes of labels."""
