"""From measured curves to births, orders, roles and statistics over seeds: tables in, tables out."""
