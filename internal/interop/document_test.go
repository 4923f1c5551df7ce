package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// The tests of this file compile programs: while one does, nobody's patience is tried.

// TestProgramsOfTheDocument runs the two programs of docs/JAVA.md side by side.
func TestProgramsOfTheDocument(t *testing.T) {
	requireJava(t)
	driver, err := jar()
	testkit.Must(t, err)
	server, dir := redistest.Start(t), t.TempDir()
	program := func(language, name string) string {
		path := filepath.Join(dir, name)
		testkit.Must(t, os.WriteFile(path, []byte(testkit.CodeBlocks(t, "docs/JAVA.md", language)[0]), 0o600))
		return path
	}
	server.MustDo("SET", "stock:7:count", "200")
	held := lock(t, open(t, server, engine.Options{}).Mutex("stock:7")) // until both have begun
	var programs sync.WaitGroup
	for _, words := range [][]string{
		append(javaSource(driver), program("java", "Sell.java"), server.URL()),
		{"go", "run", program("go", "sell.go"), server.URL()},
	} {
		programs.Go(func() {
			if said, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
				t.Errorf("%q: %v\n%s", words, err, said)
			}
		})
	}
	redistest.Await(t, "both to wait", func() bool {
		java, sell := server.MustDo("PUBSUB", "NUMSUB", scripts.LockChannel("stock:7")).Items[1].Int, server.MustDo("ZCARD", scripts.LineKey("stock:7")).Int
		return t.Failed() || java == 1 && sell == 1
	})
	unlock(t, held)
	programs.Wait()
	if left := server.MustDo("GET", "stock:7:count").Text; left != "0" {
		t.Errorf("%s pieces are left", left)
	}
}

// TestKindsOfTheDocument runs what docs/JAVA.md has about other kinds, in Java and in Go.
func TestKindsOfTheDocument(t *testing.T) {
	requireJava(t)
	driver, err := jar()
	testkit.Must(t, err)
	server, dir := redistest.Start(t), t.TempDir()
	for _, c := range []struct {
		language, file, frame string
		words                 []string
	}{
		{"java", "Kinds.java", javaFrame, javaSource(driver)},
		{"go", "kinds.go", goFrame, []string{"go", "run"}},
	} {
		path := filepath.Join(dir, c.file)
		testkit.Must(t, os.WriteFile(path, []byte(fmt.Sprintf(c.frame, testkit.CodeBlocks(t, "docs/JAVA.md", c.language)[1])), 0o600))
		words := append(c.words, path, server.URL())
		if said, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil || !strings.Contains(string(said), "prints on two") {
			t.Errorf("%q: %v\n%s", words, err, said)
		}
		if free := server.MustDo("GET", "printers").Text; free != "3" {
			t.Errorf("after %s %s printers are free", c.language, free)
		}
	}
	if server.MustDo("EXISTS", "prices").Int != 0 {
		t.Error("somebody still reads")
	}
}

const (
	javaFrame = `
import org.redisson.Redisson;
import org.redisson.api.*;
import org.redisson.config.Config;

public class Kinds {
    public static void main(String[] args) throws Exception {
        Config config = new Config();
        config.useSingleServer().setAddress(args[0]);
        RedissonClient redisson = Redisson.create(config);
        read(redisson);
        print(redisson);
        redisson.shutdown();
    }

%s
}
`
	goFrame = `package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/wheellock/wheellock/engine"
)

func main() {
	ctx := context.Background()
	opts, err := engine.ParseURL(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	e, err := engine.Open(ctx, opts)
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	if err := errors.Join(read(ctx, e), print(ctx, e)); err != nil {
		log.Fatal(err)
	}
}

%s`
)

// The example in examples/gojava takes from one stock by both libraries.
func TestExampleOfGoAndJava(t *testing.T) {
	requireJava(t)
	driver, err := jar()
	testkit.Must(t, err)
	server := redistest.Start(t)
	server.MustDo("SET", "stock:7:count", "200")
	var programs sync.WaitGroup
	for _, words := range [][]string{
		append(javaSource(driver), "../../examples/gojava/src/main/java/TakeStock.java", server.URL(), "100"),
		{"go", "-C", "../../examples", "run", "./gojava", "-redis", server.URL(), "-take", "100"},
	} {
		programs.Go(func() {
			if said, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
				t.Errorf("%q: %v\n%s", words, err, said)
			}
		})
	}
	programs.Wait()
	if left := server.MustDo("GET", "stock:7:count").Text; left != "0" {
		t.Errorf("%s items are left", left)
	}
}
