module github.com/wheellock/wheellock

go 1.26
