// Command typecheck type-checks the packages and tests of the module in the folder above, for other machines. It reads all from source, the
// standard library too, so that nothing is compiled.
package main

import (
	"fmt"
	"log"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	for _, target := range os.Args[2:] {
		system, machine, _ := strings.Cut(target, "/")
		all, err := packages.Load(&packages.Config{
			Dir: os.Args[1], Tests: true, Mode: packages.LoadAllSyntax,
			Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+machine),
		}, "./...")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("== types: %s, %d packages\n", target, len(all))
		if packages.PrintErrors(all) > 0 {
			os.Exit(1)
		}
	}
}
