-- renew.lua: prolong locks that are still held by these owners, by VERB: renew mutexes and writers; confirm those that are
-- being handed on, and count the subscribers; renew_read the holds of these readers only, for the holds of others run out.
--                 renew                         confirm                     renew_read
-- KEYS per name   lock                          lock, its line or the       lock, the hold's key
--                                               lock again
-- ARGV first                                    publish                     publish
-- ARGV per name   owner                         owner, lease, channel       owner, lease, channel or empty
-- ARGV last       one lease for all, or each
-- publish is PUBLISH, SPUBLISH or BOTH; leases are in ms; the subscribers of a channel are counted.
-- reply per name: 1 still held; with a channel its subscribers, >= 0, and a PLACE for each that stands in line; -1 not this owner's;
--                 a fault
local reads, behind = VERB == 'renew_read', VERB == 'renew'
local n = behind and #KEYS or #KEYS / 2
return each(n, function(i)
	local lock, other, hold, owner, lease, channel = KEYS[i], nil, nil, nil, nil, ''
	if behind then
		owner, lease = ARGV[i], ARGV[n + i] or ARGV[n + 1]
	else
		owner, lease, channel = ARGV[3 * i - 1], ARGV[3 * i], ARGV[3 * i + 1]
		lock, other = KEYS[2 * i - 1], KEYS[2 * i]
		hold = reads and other
	end
	local mine = call('HEXISTS', lock, owner)
	if type(mine) == 'table' then return lostor(mine, lock) end
	if mine == 0 then return -1 end
	local left = hold and call('PTTL', hold)
	if type(left) == 'table' then return fault(left, hold) end
	-- The lock first: a write that Redis allows at maxmemory, before that of the hold key.
	local refused = prolong(lock, lease) or hold and prolonghold(hold, left, lease)
	if refused then return refused end
	if channel == '' then return 1 end
	return listeners(ARGV[1], channel) + (reads and 0 or waiting(lock, other))
end)
