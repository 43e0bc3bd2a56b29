"""NUTS, mode finding by minibatches, and models with some variables fixed."""
