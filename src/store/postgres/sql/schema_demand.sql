-- Which schema is it, and which binary does it need?
select schema_version, min_binary from semel.meta where one
