"""LOO, model comparison, and metrics of predictions."""
