package enginetest

// Channels are the channels that somebody listens to.
func (s *Server) Channels() []string { return s.redis.PubSubChannels("*") }
