"""Parts of HTML reports: charts, histograms, tables of quantities, provenance."""
