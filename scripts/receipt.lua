-- receipt.lua: is put before the scripts of names that have no owner in Redis: semaphores and latches.
-- invariant: change-has-one-effect
-- Each call has a growing number and leaves a receipt, "<number>:<answer>", in one key per name and engine. The engine has
-- one call per name in flight and settles it before the next. So a receipt with a higher number means that this call is
-- a late duplicate, and nobody reads its answer.
local RECEIPT = 60000 -- ms; the engine asks again for at most 50 s

-- earlier is the answer that this call got when it ran before; nil: it did not.
local function earlier(receipt, number)
	local found = call('GET', receipt)
	if not found then return nil end
	if type(found) == 'table' then return fault(found, receipt) end
	local last, answer = string.match(found, '^(%d+):(%-?%d+)$')
	if not last or tonumber(last) < tonumber(number) then return nil end
	if last == number then return tonumber(answer) end
	return 0
end

-- note writes the receipt; an answer means that it could not.
local function note(receipt, number, answer)
	local reply = call('SET', receipt, number .. ':' .. string.format('%.0f', answer), 'PX', RECEIPT)
	if reply.err then return fault(reply, receipt) end
end

-- mayGrow makes Redis allow the script's writes at maxmemory: it does once the first one, of a harmless kind, is done.
local function mayGrow(receipt)
	call('PEXPIRE', receipt, RECEIPT) -- unchecked: where it is refused, so are the writes that count
end

-- number is what a counter holds, 0 when there is none, and whether there is one; nil and a fault when it is something else, or
-- more than Lua can count with.
local function number(key)
	local found = call('GET', key)
	if not found then return 0, false end
	if type(found) == 'table' then return nil, fault(found, key) end
	if not string.match(found, '^%-?%d+$') then return nil, FAULT - 17 end -- a string of another kind
	local n = tonumber(found)
	if math.abs(n) >= EXACT then return nil, RANGE end
	return n, true
end

-- noted is an answer that the receipt tells instead of the expected one.
local function noted(receipt, id, code)
	note(receipt, id, code) -- unchecked: the one before was not refused
	return code
end

-- once leaves the receipt, with the answer that is expected, and runs step, the one command that changes something; if that is
-- refused, the receipt says so. after does what comes then, and may give the answer more exactly.
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
