// Package proc ties the lives of processes together, as far as each system can.
package proc
