-- faults.lua: turns a refused command into a reply code (codes.go holds the table). Is put before every script as prelude.lua is; its
-- functions are made when the first of them is called.

-- fault names the class of an error that call caught. What is no error is an answer that nobody expected.
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
	-- Of a hash slot that is moving, since Redis 8 also; of one that nobody serves.
	for _, words in ipairs({ 'non local key', 'during rehashing of the slot', 'slot not served', 'cluster is down' }) do
		if string.find(reply.err, words, 1, true) then return FAULT - 9 end
	end
	return FAULT - 8
end

-- lostor reads the reply to a command about an owner that should be there: -1 when the key has another type, so that the lock is
-- gone; else the fault.
local function lostor(reply, lock)
	local code = fault(reply, lock)
	if code <= FAULT - 16 then return -1 end
	return code
end

-- foreign says that the key is a hash, but not one of this kind of lock.
local function foreign()
	return FAULT - 16 - 5
end
