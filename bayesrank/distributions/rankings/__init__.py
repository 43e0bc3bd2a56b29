"""Rankings as weak orders: Plackett-Luce, best-worst choices, and ordered partitions.

This wing may import the wing core.
"""
