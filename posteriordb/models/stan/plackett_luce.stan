// Rankings of some of the items: a choice by worth of the best, then of the best of those left.
data {
  int<lower=2> N; // items
  int<lower=1> R; // rankings
  int<lower=2> K; // items in each
  array[R, K] int<lower=1, upper=N> ordering; // best first
}
parameters {
  vector[N] utility; // log worth
}
model {
  target += normal_lpdf(utility | 0, 1);
  for (r in 1:R) {
    real rest = utility[ordering[r, K]]; // log worth of all that are left
    for (k in 1:(K - 1)) {
      real chosen = utility[ordering[r, K - k]];
      rest = log_sum_exp(rest, chosen);
      target += chosen - rest;
    }
  }
}
