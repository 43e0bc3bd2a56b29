// Rankings whose places are shared: of what is left, a set is chosen by the geometric mean of its
// worths, among all sets of its size.
functions {
  // Logarithm of the sum, over all sets of m of the items, of the product of exp(v).
  real log_sum_of_products(vector v, int m) {
    vector[m + 1] e; // e[k + 1]: over sets of k of the items so far
    e[1] = 0;
    for (i in 1:rows(v)) {
      if (i <= m) e[i + 1] = e[i] + v[i]; // the only set of all
      for (j in 1:min(i - 1, m)) {
        int k = min(i - 1, m) + 1 - j; // from above: e[k] is still without item i
        e[k + 1] = log_sum_exp(e[k + 1], e[k] + v[i]);
      }
    }
    return e[m + 1];
  }
}
data {
  int<lower=2> N; // items
  int<lower=1> R; // rankings, of all items
  int<lower=2> B; // sets in each
  array[R, N] int<lower=1, upper=N> ordering; // best set first, within a set in any order
  array[R, B] int<lower=1> size; // of the sets; they sum to N
}
parameters {
  vector[N] utility; // log worth
}
model {
  target += normal_lpdf(utility | 0, 1);
  for (r in 1:R) {
    int begin = 1;
    for (b in 1:(B - 1)) { // the last set is certain
      int m = size[r, b];
      vector[N + 1 - begin] v = utility[ordering[r, begin:N]] / m;
      target += sum(v[1:m]) - log_sum_of_products(v, m);
      begin += m;
    }
  }
}
