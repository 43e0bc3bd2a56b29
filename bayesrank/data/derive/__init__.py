"""What is derived from data: layout, stages, totals, connectivity, parts."""
