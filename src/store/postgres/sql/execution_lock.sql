select {execution} from semel.execution e where e.id = any ($1::uuid[]) for update
