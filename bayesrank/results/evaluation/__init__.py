"""LOO, comparisons of models, and metrics of predictions."""
