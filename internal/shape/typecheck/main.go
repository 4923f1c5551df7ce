// Command typecheck type-checks the packages and tests of the module in the folder above, for other machines. It reads all from source, the
// standard library too, so that nothing is compiled. Of what the module imports only the declarations count.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	root, err := filepath.Abs(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	// parse leaves out the bodies of functions of others: to check them takes more than half of the time.
	parse := func(set *token.FileSet, name string, src []byte) (*ast.File, error) {
		file, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
		if err != nil || strings.HasPrefix(name, root+string(filepath.Separator)) || !strings.HasSuffix(name, ".go") { // or a main of tests
			return file, err
		}
		for _, d := range file.Decls {
			if f, is := d.(*ast.FuncDecl); is && f.Body != nil {
				f.Body.List = nil
			}
		}
		return file, err
	}
	for _, target := range os.Args[2:] {
		system, machine, _ := strings.Cut(target, "/")
		all, err := packages.Load(&packages.Config{
			Dir: root, Tests: true, Mode: packages.LoadAllSyntax, ParseFile: parse,
			Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+machine),
		}, "./...")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("== types: %s, %d packages\n", target, len(all))
		wrong := false
		for _, p := range all { // what others import and do not use any more is no mistake
			for _, e := range p.Errors {
				fmt.Println(e)
				wrong = true
			}
		}
		if wrong {
			os.Exit(1)
		}
	}
}
