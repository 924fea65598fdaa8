"""What people open: charts and the HTML report."""
