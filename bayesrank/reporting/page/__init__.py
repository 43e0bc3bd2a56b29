"""Tables, figures and the report page that the commands write."""
