select tenant_name, created from semel.tenant_ensure($1::text[])
