package doctor

// persistence judges what a restart of the server forgets.
func persistence(n *node) []Finding {
	const harm = "Another caller then gets a lock while its holder still works. Holders are told at their next renewal."
	always := set("appendfsync", "always")
	if n.text("aof_enabled") == "1" {
		switch fsync := n.config("appendfsync"); fsync {
		case "always":
			return nil
		case "everysec":
			return found(Note, "appendfsync is everysec", "A power cut forgets the locks of the last second or two. If the disk is slow, the end of the process does so, too.", always)
		default:
			return found(Note, "appendfsync is "+fsync, "A power cut forgets the locks that the system has not written yet.", always)
		}
	}
	if snapshots := n.config("save"); snapshots != "" {
		return found(Warning, "there is no AOF, only snapshots (save "+snapshots+")",
			"A crash forgets all locks since the last snapshot. "+harm, set("appendonly", "yes"), always)
	}
	return found(Warning, "there is neither AOF nor snapshots", "A restart forgets all locks. "+harm, set("appendonly", "yes"), always)
}
