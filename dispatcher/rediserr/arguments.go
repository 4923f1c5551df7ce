package rediserr

import "regexp"

// arguments are what servers quote of a command that they do not know. One of AUTH is the password.
var arguments = regexp.MustCompile(`, with args beginning with:.*`)

// WithoutArguments returns the text of an error without what servers quote of a command that they do not know.
func WithoutArguments(text string) string { return arguments.ReplaceAllString(text, "") }
