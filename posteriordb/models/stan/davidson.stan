// Matches of two that may tie: a tie is worth nu times the geometric mean of the worths.
data {
  int<lower=2> N; // items
  int<lower=1> M; // pairs
  array[M] int<lower=1, upper=N> first;
  array[M] int<lower=1, upper=N> second;
  array[M, 3] int<lower=0> counts; // the first won, the second won, they tied
}
parameters {
  vector[N] utility; // log worth
  real<lower=0> nu; // prevalence of ties
}
model {
  target += normal_lpdf(utility | 0, 1);
  target += lognormal_lpdf(nu | 0, 1);
  for (m in 1:M) {
    real one = utility[first[m]];
    real other = utility[second[m]];
    vector[3] worth = [one, other, log(nu) + (one + other) / 2]';
    target += multinomial_logit_lpmf(counts[m] | worth);
  }
}
