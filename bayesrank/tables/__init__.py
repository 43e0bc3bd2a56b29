"""Tables: read any table as rankings or pairs."""
