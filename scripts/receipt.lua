-- receipt.lua: receipts of calls. It is put before the scripts of names without owners in Redis: semaphores and latches.
-- invariant: change-has-one-effect
-- Calls have growing numbers. Each leaves a receipt, "<number>:<answer>", in one key per name and engine. The engine settles a
-- call on a name before it makes the next. So a call that finds a receipt with a higher number is a late duplicate, and nobody reads its
-- answer.
local RECEIPT = 60000 -- ms; the engine asks again for at most 50 s

-- earlier returns the answer that this call was given when it ran before; nil if it did not.
local function earlier(receipt, number)
	local found = call('GET', receipt)
	if not found then return nil end
	if type(found) == 'table' then return fault(found, receipt) end
	local last, answer = string.match(found, '^(%d+):(%-?%d+)$')
	if not last or tonumber(last) < tonumber(number) then return nil end
	if last == number then return tonumber(answer) end
	return 0
end

-- note writes the receipt, and answers the fault if that is refused.
local function note(receipt, number, answer)
	local reply = call('SET', receipt, number .. ':' .. string.format('%.0f', answer), 'PX', RECEIPT)
	if reply.err then return fault(reply, receipt) end
end

-- mayGrow makes Redis allow all writes of the script at maxmemory: Redis decides at the first write, and this one is allowed.
local function mayGrow(receipt)
	call('PEXPIRE', receipt, RECEIPT) -- unchecked: if it is refused, so are the writes that count
end

-- number returns the number of a counter, 0 if there is none, and whether there is one; nil and a fault if the key is something else, or the
-- number is one that Lua cannot count with.
local function number(key)
	local found = call('GET', key)
	if not found then return 0, false end
	if type(found) == 'table' then return nil, fault(found, key) end
	if not string.match(found, '^%-?%d+$') then return nil, FAULT - 17 end -- a string that is no counter
	local n = tonumber(found)
	if math.abs(n) >= EXACT then return nil, RANGE end
	return n, true
end

-- noted puts an unexpected answer into the receipt, and returns it.
local function noted(receipt, id, code)
	note(receipt, id, code) -- unchecked: the receipt before it was not refused
	return code
end

-- once writes a receipt with the expected answer and runs step, the one command that changes the name. If step is refused, the receipt gets
-- the fault. after, if any, runs last; its answer is returned in place of the expected one.
local function once(receipt, id, expected, step, after)
	local refused = note(receipt, id, expected)
	if refused then return refused end
	local reply = step()
	if type(reply) == 'table' and reply.err then
		return noted(receipt, id, fault(reply, receipt))
	end
	if after then return after(reply) end
	return expected
end
