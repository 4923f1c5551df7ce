-- tokens.lua: fencing tokens. It is put between prelude.lua and the scripts that give some.

-- tokensof takes a block of tokens from a counter, which expires after idle ms without use (0: never). It answers the last token of the block,
-- or the fault by which Redis refused, which is negative.
-- invariant: tokens-grow
-- A block ends at the larger of previous + block and the server's time in microseconds. So tokens grow even after the counter
-- was lost, and stay below 2^53 until the year 2255.
local function tokensof(counter, block, idle, micros)
	local last = call('GET', counter)
	if type(last) == 'table' then return fault(last, counter) end
	local token = math.max((tonumber(last) or 0) + block, micros)
	if token >= EXACT then return RANGE end -- two tenures could get the same tokens
	local text = string.format('%.0f', token)
	local set = tonumber(idle) > 0 and call('SET', counter, text, 'PX', idle) or call('SET', counter, text)
	if set.err then return fault(set, counter) end
	return token
end
