/*
 * A clock that a test turns: preloaded into a server, it answers the time of day with what stands in the file CLOCK_FILE, eight
 * bytes of µs since 1970. Clocks that only measure how long something takes go on as they are.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *micros;

__attribute__((constructor)) static void find(void) {
	const char *path = getenv("CLOCK_FILE");
	int fd = path ? open(path, O_RDONLY) : -1;
	if (fd < 0) return;
	void *file = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (file != MAP_FAILED) micros = file;
}

int clock_gettime(clockid_t id, struct timespec *now) {
	if (!micros || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) return (int)syscall(SYS_clock_gettime, id, now);
	now->tv_sec = *micros / 1000000;
	now->tv_nsec = *micros % 1000000 * 1000;
	return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
	struct timespec at;
	(void)zone;
	clock_gettime(CLOCK_REALTIME, &at);
	now->tv_sec = at.tv_sec;
	now->tv_usec = at.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *now) {
	struct timespec at;
	clock_gettime(CLOCK_REALTIME, &at);
	if (now) *now = at.tv_sec;
	return at.tv_sec;
}
