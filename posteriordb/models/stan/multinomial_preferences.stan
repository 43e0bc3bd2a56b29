// Rankers who follow common scores more or less closely: each spreads preferences over all ordered
// pairs, by the difference of the scores times how closely the ranker adheres to them.
data {
  int<lower=2> N; // items
  int<lower=1> R; // rankers
  int<lower=2> M; // ordered pairs, N (N - 1)
  array[M] int<lower=1, upper=N> better;
  array[M] int<lower=1, upper=N> worse;
  array[R, M] int<lower=0> counts; // how often the ranker preferred one to the other
}
parameters {
  vector[N] score;
  vector<lower=0>[R] adherence;
}
model {
  vector[M] lead = score[better] - score[worse];
  target += normal_lpdf(score | 0, 1);
  target += lognormal_lpdf(adherence | 0, 0.5);
  for (r in 1:R) {
    target += multinomial_logit_lpmf(counts[r] | adherence[r] * lead);
  }
}
