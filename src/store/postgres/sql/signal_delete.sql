delete from semel.signal where chain = any ($1::uuid[])
