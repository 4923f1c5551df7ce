package doctor

// writes judges whether Redis refuses writes because its disk failed.
func writes(n *node) []Finding {
	const harm = "Redis refuses every write (MISCONF): locks can be neither taken nor renewed, and holders lose them."
	const cure = "look into the server's log; give the disk space, or the server the right to write there"
	switch {
	case n.text("aof_last_write_status") == "err":
		return found(Error, "the last write of the AOF failed", harm, cure)
	case n.text("rdb_last_bgsave_status") != "err":
		return nil
	case n.config("stop-writes-on-bgsave-error") == "yes" && n.config("save") != "":
		return found(Error, "the last snapshot failed, and stop-writes-on-bgsave-error is yes", harm, cure)
	}
	return found(Warning, "the last snapshot failed", "Without an AOF a restart forgets the locks since the last one that did not.", cure)
}
