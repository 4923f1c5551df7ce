//go:build unix

package guard

import (
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ending are the signals that ask a process to end. passed go to a command besides.
var (
	ending = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
	passed = []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGTSTP}
)

// process is a command in a process group of its own.
type process struct {
	pid        int
	changes    chan change
	terminal   *terminal // nil: none
	foreground bool      // the terminal is the command's
	refused    func()    // to be called when the group may not be ended; later calls have no effect
}

func start(command, environment []string, refused func(group int)) (*process, error) {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return nil, err
	}
	p := &process{changes: make(chan change), terminal: openTerminal()}
	attributes := &syscall.SysProcAttr{Setpgid: true}
	dieWithUs(attributes)
	if p.terminal.isOurs() && isTerminal(os.Stdin) && isTerminal(os.Stdout) {
		p.foreground = true
		attributes.Foreground, attributes.Ctty = true, int(p.terminal.Fd())
	}
	started, err := os.StartProcess(path, command, &os.ProcAttr{
		Env: environment, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: attributes,
	})
	if err != nil {
		p.terminal.close()
		return nil, err
	}
	p.pid = started.Pid
	p.refused = sync.OnceFunc(func() { refused(p.pid) })
	_ = started.Release() // package os does not tell when a process is stopped
	go p.follow()
	return p, nil
}

// follow tells what happens to the process until it is over. Others that have become ours are reaped meanwhile.
func (p *process) follow() {
	whose := p.pid
	if adopts() {
		whose = -1
	}
	for {
		var status syscall.WaitStatus
		switch pid, err := syscall.Wait4(whose, &status, syscall.WUNTRACED, nil); {
		case err == syscall.EINTR, err == nil && pid != p.pid:
		case err != nil: // somebody ignores SIGCHLD: how it ended is not known
			p.changes <- change{over: true, exit: 1}
			return
		case status.Stopped():
			p.changes <- change{stopped: status.StopSignal()}
		case status.Signaled():
			p.changes <- change{over: true, signal: status.Signal()}
			return
		case status.Exited():
			p.changes <- change{over: true, exit: status.ExitStatus()}
			return
		}
	}
}

// orphans has c told when a process may have ended that has become ours.
func orphans(c chan<- os.Signal) {
	if adopts() {
		signal.Notify(c, syscall.SIGCHLD)
	}
}

// reap reaps those that have ended. No command may run: it would lose its exit code.
func reap() {
	for adopts() {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.EINTR && pid <= 0 {
			return
		}
	}
}

// send sends a signal to the process group, and reports whether there is one. The system refuses it if all of the group are another
// user's, as under sudo.
func (p *process) send(s syscall.Signal) (there bool) {
	err := syscall.Kill(-p.pid, s)
	if err == syscall.EPERM && (s == syscall.SIGKILL || slices.Contains(ending, os.Signal(s))) {
		p.refused()
	}
	return err != syscall.ESRCH
}

// pass passes a signal on: to the group, as a terminal does, but those without a usual meaning to the command alone, because its
// own children would end by them.
func (p *process) pass(s syscall.Signal) {
	if s == syscall.SIGUSR1 || s == syscall.SIGUSR2 {
		_ = syscall.Kill(p.pid, s)
		return
	}
	p.send(s)
}

// terminate asks the group to end, also if it is stopped.
func (p *process) terminate() {
	p.send(syscall.SIGTERM)
	p.send(syscall.SIGCONT)
}

// suspend stops this process and its group because the terminal stopped the command, and returns when the shell has it go on. The
// command is stopped until resume. False: it was stopped otherwise, or goes on already.
func (p *process) suspend(by syscall.Signal) bool {
	switch by {
	case syscall.SIGTTIN, syscall.SIGTTOU:
		if p.terminal.isOurs() {
			p.resume() // it wants the terminal, and may have it
			return false
		}
	case syscall.SIGTSTP:
	default:
		return false
	}
	p.terminal.takeFrom(p.pid)
	if session, err := unix.Getsid(0); err != nil || session == syscall.Getpgrp() {
		return true // no shell started us as a job, so none would continue us
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	_ = syscall.Kill(0, syscall.SIGSTOP) // not by: package signal gives no default action back
	select {
	case <-continued:
	case <-time.After(50 * time.Millisecond): // it arrives
	}
	return true
}

// resume has the command go on, with the terminal if that is ours.
func (p *process) resume() {
	if p.terminal.isOurs() {
		p.foreground = true
		p.terminal.give(p.pid)
	}
	p.send(syscall.SIGCONT)
}

// end tidies up after the command. all: nothing of its group may go on, so end waits until it is over, a second at most (in a
// container where nobody reaps processes they stay). The command itself is reaped.
func (p *process) end(all bool) {
	for until := time.Now().Add(time.Second); all && p.send(syscall.SIGKILL) && time.Now().Before(until); {
		reap()
		time.Sleep(time.Millisecond)
	}
	p.terminal.takeFrom(p.pid)
	p.terminal.close()
}

// interruptOurs has this process and its group end by SIGINT.
func interruptOurs() {
	signal.Reset(syscall.SIGINT)
	_ = syscall.Kill(0, syscall.SIGINT)
	time.Sleep(50 * time.Millisecond) // it arrives
}
