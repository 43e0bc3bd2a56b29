"""MPM, the multinomial preference model: normalisers, compiled Ops and exact draws."""
