-- peek.lua: look whether locks are free, strings or hashes.
-- KEYS[i] lock
-- reply per name: 0 free; -(pttl+2) somebody has it; a fault
return each(#KEYS, function(i)
	local ttl = call('PTTL', KEYS[i])
	if type(ttl) == 'table' then return fault(ttl, KEYS[i]) end
	return ttl == -2 and 0 or taken(ttl)
end)
