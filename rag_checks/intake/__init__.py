"""How conversations come in: sources, formats, sampling."""
