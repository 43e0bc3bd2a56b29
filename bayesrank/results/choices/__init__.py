"""Shares of preference, importance of attributes and willingness to pay."""
