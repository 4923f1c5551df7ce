-- permit_id.lua: the ids of held permits, 8 bytes of the engine and 8 of a growing number. It stands first in the scripts that have them.
local unpack = unpack or table.unpack
local head, high

-- idOf returns the id of a permit. head is what the ids of 256 numbers begin with: those of one call, of one engine, are close together.
local function idOf(engine, number)
	local low = number % 256
	if high ~= number - low then
		high = number - low
		local bytes, rest = {}, high / 256
		for at = 7, 1, -1 do
			bytes[at] = rest % 256
			rest = (rest - bytes[at]) / 256
		end
		head = engine .. string.char(unpack(bytes))
	end
	return head .. string.char(low)
end
