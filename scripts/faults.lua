-- faults.lua: from a refused command to a reply code (codes.go has the table). It is put before every script as prelude.lua is; Lua makes its
-- functions when the first of them is called.

-- fault returns the code of an error that call returned. A reply that is no error was unexpected.
local function fault(reply, key)
	if type(reply) ~= 'table' or not reply.err then return FAULT - 8 end
	local faults = { 'READONLY', 'OOM', 'MISCONF', 'NOREPLICAS', 'NOPERM', 'user executing the script', 'WRONGTYPE' }
	for class, word in ipairs(faults) do
		if string.find(reply.err, word, 1, true) then
			if word == 'WRONGTYPE' then
				local kinds = { string = 1, list = 2, set = 3, zset = 4, hash = 5, stream = 6 }
				local found = call('TYPE', key)
				return FAULT - 16 - (kinds[found.ok or found] or 0)
			end
			return FAULT - class
		end
	end
	if string.find(reply.err, 'ACL failure in script', 1, true) then return FAULT - 6 end -- since Redis 7.2
	-- The hash slot is moving (two texts, one of Redis 8), or no node serves it (two texts).
	for _, words in ipairs({ 'non local key', 'during rehashing of the slot', 'slot not served', 'cluster is down' }) do
		if string.find(reply.err, words, 1, true) then return FAULT - 9 end
	end
	return FAULT - 8
end

-- lostor returns the code of an error about an owner that should be there: -1 if the key has another type, because then the lock is gone;
-- else the fault.
local function lostor(reply, lock)
	local code = fault(reply, lock)
	if code <= FAULT - 16 then return -1 end
	return code
end

-- foreign returns the fault of a hash that is no lock of this kind.
local function foreign()
	return FAULT - 16 - 5
end
