select lane_tenant, lane_queue, created from semel.lane_ensure($1::integer[], $2::text[])
