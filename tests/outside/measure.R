# Fit small data with other R packages: one line of CSV per item.
#
# Rscript measure.R FOLDER prints package, version, call, data, item, value for the packages that are
# installed. FOLDER contains the data, in the form that is next to this file.

folder <- commandArgs(trailingOnly = TRUE)[1]
read <- function(name) read.csv(file.path(folder, paste0(name, ".csv")), stringsAsFactors = FALSE)

show <- function(package, call, data, values) {
  version <- as.character(packageVersion(package))
  for (item in sort(names(values))) {
    cat(package, version, call, data, item, sprintf("%.12g", values[[item]]), sep = ",")
    cat("\n")
  }
}

# Counts of wins and ties of each pair that met, in alphabetical order
counts <- function(name) {
  d <- read(name)
  labels <- sort(unique(c(d$first, d$second)))
  pairs <- t(combn(labels, 2))
  won <- function(a, b) {
    sum(d$first == a & d$second == b & d$outcome == "first") +
      sum(d$first == b & d$second == a & d$outcome == "second")
  }
  out <- data.frame(a = pairs[, 1], b = pairs[, 2], stringsAsFactors = FALSE)
  out$won <- mapply(won, out$a, out$b)
  out$lost <- mapply(won, out$b, out$a)
  out$tied <- mapply(function(a, b) {
    sum(d$outcome == "tie" & ((d$first == a & d$second == b) | (d$first == b & d$second == a)))
  }, out$a, out$b)
  out[out$won + out$lost + out$tied > 0, ]
}

if (requireNamespace("BradleyTerry2", quietly = TRUE)) {
  for (name in c("matches", "ties", "unbeaten")) {
    for (reduced in c(FALSE, TRUE)) {
      d <- counts(name)
      labels <- sort(unique(c(d$a, d$b)))
      d$a <- factor(d$a, labels)
      d$b <- factor(d$b, labels)
      # its manual advises half a win for each item of a tie
      d$won <- d$won + d$tied / 2
      d$lost <- d$lost + d$tied / 2
      fit <- suppressWarnings(
        BradleyTerry2::BTm(cbind(won, lost), a, b, data = d, br = reduced)
      )
      values <- BradleyTerry2::BTabilities(fit)[, "ability"]
      show("BradleyTerry2", paste0("BTm(br = ", reduced, ")"), name, values)
    }
  }
}

if (requireNamespace("psychotools", quietly = TRUE)) {
  for (name in c("matches", "ties", "unbeaten")) {
    d <- read(name)
    labels <- sort(unique(c(d$first, d$second)))
    # its order of pairs: 1-2, 1-3, 2-3, 1-4, ...
    pairs <- which(upper.tri(diag(length(labels))), arr.ind = TRUE)
    {
      column <- function(a, b) {
        first <- d$first == labels[a] & d$second == labels[b]
        second <- d$first == labels[b] & d$second == labels[a]
        value <- c(first = 1, second = -1, tie = 0)[d$outcome]
        ifelse(first, value, ifelse(second, -value, NA))
      }
      entries <- mapply(column, pairs[, 1], pairs[, 2])
      answers <- psychotools::paircomp(
        matrix(entries, nrow = nrow(d)), labels = labels,
        mscale = if (name == "ties") c(-1, 0, 1) else c(-1, 1)
      )
      fit <- psychotools::btmodel(answers)
      values <- c(coef(fit), rep(0, length(labels) - sum(names(coef(fit)) %in% labels)))
      names(values)[names(values) == ""] <- setdiff(labels, names(coef(fit)))
      show("psychotools", "btmodel", name, values)
    }
  }
}

if (requireNamespace("survival", quietly = TRUE)) {
  library(survival)
  for (name in c("rankings", "blocks", "twos")) {
    d <- read(name)
    if ("count" %in% names(d)) { # a row per ranking: "exact" takes no weights
      d <- d[rep(seq_len(nrow(d)), d$count), ]
      d$ranking <- paste(d$ranking, ave(d$rank, d$ranking, d$item, FUN = seq_along))
    }
    d$item <- factor(d$item)
    # the last block of a ranking is no choice: it may be events, or censored
    last <- d$rank == ave(d$rank, d$ranking, FUN = max)
    for (censored in if (name == "rankings") FALSE else c(FALSE, TRUE)) {
      d$event <- if (censored) as.integer(!last) else 1L
      for (method in c("exact", "efron", "breslow")) {
        fit <- coxph(Surv(rank, event) ~ item + strata(ranking), data = d, ties = method)
        values <- c(0, coef(fit))
        names(values) <- levels(d$item)
        call <- paste0("coxph(ties = '", method, "')", if (censored) " with censored last block")
        show("survival", call, name, values)
        if (name == "twos") {
          errors <- c(0, sqrt(diag(vcov(fit))))
          names(errors) <- levels(d$item)
          show("survival", paste(call, "standard errors"), name, errors)
        }
      }
    }
  }
}
