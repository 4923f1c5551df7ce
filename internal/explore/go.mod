module github.com/wheellock/wheellock/internal/explore

go 1.26.0

require (
	github.com/wheellock/wheellock v0.0.0
	github.com/yuin/gopher-lua v1.1.1
)

replace github.com/wheellock/wheellock => ../..
