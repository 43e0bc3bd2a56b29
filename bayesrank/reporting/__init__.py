"""Reports: a posterior becomes a verdict, tables, pictures, a page and JSON.

`report.Report` composes them, and `parts_of` chooses the sections by the kind of the analysis.

This room may import arviz, jinja2, markupsafe, matplotlib, numpy, pandas, pymc, rich, scipy, xarray
and the rooms analysis, data, inference, match_outcomes, plots, results, schema, tables and texts.
"""
