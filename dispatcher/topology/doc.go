// Package topology finds out which Redis serves a name.
//
// In a cluster, a Map is the answer of one node to the question which node serves which hash slot, and a Redirect the refusal of one
// command by a node that does not serve its slot. The loop keeps what it learned in a Table, and asks again by the schedule of a
// Survey. With Sentinel, a Follower notices that another server has become the master.
//
// Map, Table, Redirect and Survey are values: they have no goroutine, lock or clock. The loop owns them and passes the time.
package topology
