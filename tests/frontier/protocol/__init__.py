"""Small exhaustive models of the protocols by which workers share a frontier on PostgreSQL."""
