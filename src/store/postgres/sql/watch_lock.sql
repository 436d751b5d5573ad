select w.target, w.run, w.command from semel.watch w where w.target = any ($1::uuid[]) for update
