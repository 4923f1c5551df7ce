// Package topology says which Redis serves a name, and how the dispatcher learns that another one does.
//
// In a cluster a node tells a Map of all hash slots (map.go), or redirects one command (redirect.go). The loop keeps
// what it was told in a Table (table.go) and asks again by the schedule of a Survey (survey.go). With Sentinel a
// Follower notices that another server is the master (follower.go).
//
// Map, Table, Redirect and Survey are values: they have no goroutine, lock or clock. The loop owns them and says what
// time it is.
package topology
