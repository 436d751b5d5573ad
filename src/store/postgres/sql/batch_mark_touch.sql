-- A change that changes nothing: the commit behind it is written and waited for.
update semel.batch_mark set at = at where id = $1::uuid
