-- leader.lua: read the note that names the leader of an election. The holder of the election's lock also writes it, or deletes it.
-- KEYS[1] lock, a fenced mutex   KEYS[2] note of the leader: a hash of owner, term, identity, since
-- ARGV    none to ask; else PUBLISH, SPUBLISH or BOTH, channel, owner of the lock, term, identity ('' when the term is over)
-- reply {0, term, identity, since in ms of the server's clock}; {0} when nobody leads; {fault}
--
-- A note counts only while its owner has the lock: when the lock is free nobody leads, even if the note could not be deleted. Only
-- the holder of the lock writes a note. One owner may have several terms, one after the other (handoff); the older one does not
-- overwrite the note of the newer one, however late it comes.
local lock, leader = KEYS[1], KEYS[2]
local owner, term, identity = ARGV[3], ARGV[4], ARGV[5]

local note = call('HMGET', leader, 'owner', 'term', 'identity', 'since')
if note.err then return { fault(note, leader) } end
local noted = note[1] == owner and tonumber(note[2]) or 0 -- the last term that this owner has noted
if identity == '' and note[2] == term then
	local gone = call('DEL', leader)
	if gone ~= 1 then return { fault(gone, leader) } end
	return { 0 }
end
if owner and identity ~= '' and noted < tonumber(term) then
	local mine = call('HEXISTS', lock, owner)
	if type(mine) == 'table' then return { fault(mine, lock) } end
	if mine == 1 then
		note = { owner, term, identity, string.format('%.0f', clock()) }
		local set = call('HSET', leader, 'owner', owner, 'term', term, 'identity', identity, 'since', note[4])
		if type(set) == 'table' then return { fault(set, leader) } end
		publish(ARGV[1], ARGV[2], term) -- unchecked: an engine that misses the message looks now and then
	end
end
local held = note[1] and call('HEXISTS', lock, note[1]) or 0
if type(held) == 'table' then return { fault(held, lock) } end
if held == 0 then return { 0 } end
return { 0, note[2], note[3], note[4] }
