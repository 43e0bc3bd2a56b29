"""NUTS, and posterior modes by minibatches."""
