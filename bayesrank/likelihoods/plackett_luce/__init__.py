"""Plackett-Luce on weak orders: graphs, the stage integral, compiled Ops per item and per slot."""
