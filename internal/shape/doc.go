// Package shape has what is measured of the code as a whole: its mechanisms with their lines (docs/MECHANISMS.md), and, in the folders below,
// the public API, the modules of a release, and the types on other machines.
package shape
