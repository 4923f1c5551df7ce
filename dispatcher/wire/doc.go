// Package wire turns the commands of gates into calls of scripts, and the answers of scripts into replies.
//
// A batch of commands is cut into calls (call.go), many names in one EVALSHA. A Writer writes the keys and arguments of
// each (writer.go), in the order that its script wants (operations.go); owner.go has the form of an owner field. Decode
// reads the answers (decode.go). An acquire carries a deadline in the server's time, which ServerClock estimates
// (serverclock.go). Nothing here does I/O: an Encoder (encoder.go) does the same for a program that runs the scripts
// itself.
package wire
