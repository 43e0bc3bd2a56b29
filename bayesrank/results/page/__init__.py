"""Tables, figures and the page that the commands write."""
