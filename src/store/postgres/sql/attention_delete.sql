delete from semel.attention where execution = any ($1::uuid[])
