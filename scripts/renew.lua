-- renew.lua: prolong locks that are still held by these owners, by VERB: renew mutexes and writers; confirm those that are
-- being handed on, and count the subscribers; renew_read the holds of these readers only, for the holds of others run out; confirm_read
-- these, and count as well, but of those in line only writers.
--                 renew      confirm                       renew_read              confirm_read
-- KEYS per name   lock       lock, its line or the         lock, the hold's key    lock, its line or the lock
--                            lock again                                            again, the hold's key
-- ARGV first                 publish                                               publish
-- ARGV per name   owner      owner, lease, channel         owner, lease            owner, lease, channel
-- ARGV last       one lease for all, or each
-- publish is PUBLISH, SPUBLISH or BOTH; leases are in ms; the subscribers of a channel are counted.
-- reply per name: 1 still held; of a confirmation the subscribers, >= 0, and a PLACE for each that stands in line, of readers for the
--                 writers, or one in the part of a round in which they make way for those who listen; -1 not this owner's; a fault
local confirms, reads = VERB == 'confirm' or VERB == 'confirm_read', VERB == 'renew_read' or VERB == 'confirm_read'
local keys = 1 + (confirms and 1 or 0) + (reads and 1 or 0)
local n = #KEYS / keys
return each(n, function(i)
	local lock, line, hold = KEYS[keys * (i - 1) + 1], confirms and KEYS[keys * (i - 1) + 2], reads and KEYS[keys * i]
	local owner, lease, channel
	if confirms then
		owner, lease, channel = ARGV[3 * i - 1], ARGV[3 * i], ARGV[3 * i + 1]
	else
		owner, lease = ARGV[i], ARGV[n + i] or ARGV[n + 1]
	end
	local mine = call('HEXISTS', lock, owner)
	if type(mine) == 'table' then return lostor(mine, lock) end
	if mine == 0 then return -1 end
	local left = hold and call('PTTL', hold)
	if type(left) == 'table' then return fault(left, hold) end
	-- The lock first: a write that Redis allows at maxmemory, before that of the hold key.
	local refused = prolong(lock, lease) or hold and prolonghold(hold, left, lease)
	if refused then return refused end
	if not confirms then return 1 end
	local heard = listeners(ARGV[1], channel)
	if line == lock then return heard end
	if reads and heard > 0 and makesWay() > 0 then return heard + PLACE end
	if call('EXISTS', line) == 0 then return heard end
	return heard + (reads and (passes(line, '', ARGV[1], channel) and PLACE or 0) or waiting(lock, line))
end)
