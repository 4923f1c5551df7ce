// Package kubernetes has the test of docs/KUBERNETES.md.
package kubernetes_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/wheellock/wheellock/internal/redistest"
)

// document is the page.
func document(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/KUBERNETES.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// blocks are the blocks of a language, each with the text before it.
func blocks(t *testing.T, language string) (found [][2]string) {
	t.Helper()
	parts := strings.Split(document(t), "```")
	for i := 1; i < len(parts); i += 2 {
		if block, is := strings.CutPrefix(parts[i], language+"\n"); is {
			found = append(found, [2]string{parts[i-1], block})
		}
	}
	if len(found) == 0 {
		t.Fatalf("the page has no block of %s", language)
	}
	return found
}

// program builds wheellock.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wheellock")
	build := exec.Command("go", "build", "-o", path, "./cmd/wheellock")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// Each manifest is one of the API's, has no field that the API does not know, and none is given a value of another type. Its labels fit, and a command
// of wheellock in it runs.
func TestManifests(t *testing.T) {
	wheellock, url := program(t), "redis://"+redistest.Start(t).Addr()
	for _, block := range blocks(t, "yaml") {
		manifest := []byte(block[1])
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(manifest, &kind); err != nil {
			t.Fatal(err)
		}
		var pod corev1.PodSpec
		var err error
		switch kind.APIVersion + " " + kind.Kind {
		case "batch/v1 CronJob":
			var job batchv1.CronJob
			err = yaml.UnmarshalStrict(manifest, &job)
			pod = job.Spec.JobTemplate.Spec.Template.Spec
			if again := job.Spec.JobTemplate.Spec.BackoffLimit; strings.Contains(block[1], "--min-hold") && (again == nil || *again > 0) {
				t.Errorf("%s: a pod that repeats a failed run finds the name taken, and ends with 75", job.Name)
			}
		case "apps/v1 Deployment":
			var deployment appsv1.Deployment
			err = yaml.UnmarshalStrict(manifest, &deployment)
			pod = deployment.Spec.Template.Spec
			selector, failed := metav1.LabelSelectorAsMap(deployment.Spec.Selector)
			err = errors.Join(err, failed)
			for label, want := range selector {
				if got := deployment.Spec.Template.Labels[label]; got != want {
					t.Errorf("%s: the pods' label %s is %q, the selector wants %q", deployment.Name, label, got, want)
				}
			}
		default:
			t.Errorf("no test knows the kind %q of %q", kind.Kind, kind.APIVersion)
		}
		if err != nil {
			t.Errorf("%s\n%v", manifest, err)
		}
		for _, c := range pod.Containers {
			if len(c.Command) > 0 && c.Command[0] == "wheellock" {
				run(t, wheellock, url, c.Command[1:])
			}
		}
	}
}

// run runs a command of wheellock with true in place of what it runs.
func run(t *testing.T, wheellock, url string, args []string) {
	t.Helper()
	var words []string
	for _, arg := range args {
		words = append(words, strings.ReplaceAll(arg, "$(POD_NAME)", "report-0"))
		if arg == "--" {
			break
		}
	}
	cmd := exec.Command(wheellock, append(words, "true")...)
	cmd.Env = append(os.Environ(), "WHEELLOCK_REDIS="+url)
	if out, err := cmd.CombinedOutput(); err != nil || len(words) == len(args)+1 {
		t.Errorf("wheellock %q: %v\n%s", args, err, out)
	}
}

// systemd reads the units, and wheellock the command in them.
func TestUnits(t *testing.T) {
	wheellock, url := program(t), "redis://"+redistest.Start(t).Addr()
	name := regexp.MustCompile("`([a-z]+\\.(?:service|timer))`")
	start := regexp.MustCompile(`(?m)^ExecStart=\S+ (.*)$`)
	dir := t.TempDir()
	password := filepath.Join(dir, "redis")
	if err := os.WriteFile(password, []byte("any\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, block := range blocks(t, "ini") {
		names := name.FindAllStringSubmatch(block[0], -1)
		unit := strings.ReplaceAll(block[1], "/usr/local/bin/wheellock", wheellock)
		file := filepath.Join(dir, names[len(names)-1][1])
		if err := os.WriteFile(file, []byte(unit), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		if command := start.FindStringSubmatch(unit); command != nil {
			args := strings.Fields(strings.ReplaceAll(command[1], "${CREDENTIALS_DIRECTORY}", dir))
			run(t, wheellock, url, args)
		}
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Log("this machine has no systemd-analyze: nothing else reads the units")
		return
	}
	out, err := exec.Command("systemd-analyze", append([]string{"verify", "--man=no"}, files...)...).CombinedOutput()
	if err != nil || strings.Contains(string(out), dir) {
		t.Errorf("systemd-analyze: %v\n%s", err, out)
	}
}
