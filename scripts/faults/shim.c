// Faults of the system, for a program that is started with this library in LD_PRELOAD.
//
// FAULT_UNDER   only files below this folder count
// FAULT_OP      write (open to create, write, fsync, rename, truncate), read, clock (all clocks), or date (the time of day alone)
// FAULT_AT      the number of the call that fails, from 1; 0 only counts
// FAULT_ERRNO   its errno
// FAULT_STAY    1: all later calls fail too, as on a full disk; 0: that one alone
// FAULT_COUNT   a file that gets the number of calls
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static atomic_long calls;
static char under[PATH_MAX], operation[16], count_file[PATH_MAX];
static long fail_at, fail_errno;
static int stay, ready;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
    const char *v;
    if ((v = getenv("FAULT_UNDER"))) snprintf(under, sizeof under, "%s", v);
    if ((v = getenv("FAULT_OP"))) snprintf(operation, sizeof operation, "%s", v);
    if ((v = getenv("FAULT_COUNT"))) snprintf(count_file, sizeof count_file, "%s", v);
    fail_at = (v = getenv("FAULT_AT")) ? atol(v) : 0;
    fail_errno = (v = getenv("FAULT_ERRNO")) ? atol(v) : EIO;
    stay = (v = getenv("FAULT_STAY")) ? atoi(v) : 0;
    ready = 1;
}

__attribute__((destructor)) static void end(void) {
    if (!count_file[0]) return;
    FILE *f = fopen(count_file, "w");
    if (f) {
        fprintf(f, "%ld\n", (long)calls);
        fclose(f);
    }
}

static int below(const char *path) {
    return path && under[0] && strncmp(path, under, strlen(under)) == 0;
}

static int fd_below(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0) return 0;
    path[n] = 0;
    return below(path);
}

// Whether this call is the one that fails.
static int fails(const char *kind) {
    if (!ready || strcmp(operation, kind) != 0) return 0;
    long now = ++calls;
    return fail_at > 0 && (now == fail_at || (stay && now > fail_at));
}

// The first failing write of a full disk still takes half of the bytes.
static int first(void) { return stay && calls == fail_at; }

ssize_t write(int fd, const void *bytes, size_t size) {
    if (fd_below(fd) && fails("write")) {
        if (first() && size > 1) return REAL(write)(fd, bytes, size / 2);
        errno = fail_errno;
        return -1;
    }
    return REAL(write)(fd, bytes, size);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (fd_below(fd) && fails("write")) {
        errno = fail_errno;
        return -1;
    }
    return REAL(writev)(fd, parts, count);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
    if (fd_below(fd) && fails("write")) {
        errno = fail_errno;
        return -1;
    }
    return REAL(pwrite64)(fd, bytes, size, at);
}

int fsync(int fd) {
    if (fd_below(fd) && fails("write")) {
        errno = fail_errno;
        return -1;
    }
    return REAL(fsync)(fd);
}

int rename(const char *from, const char *to) {
    if (below(to) && fails("write")) {
        errno = fail_errno;
        return -1;
    }
    return REAL(rename)(from, to);
}

static int opens(const char *path, int flags) {
    return (flags & O_CREAT) && below(path) && fails("write");
}

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = va_arg(more, mode_t);
    va_end(more);
    if (opens(path, flags)) {
        errno = fail_errno;
        return -1;
    }
    return REAL(open64)(path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = va_arg(more, mode_t);
    va_end(more);
    if (opens(path, flags)) {
        errno = fail_errno;
        return -1;
    }
    return REAL(open)(path, flags, mode);
}

ssize_t read(int fd, void *bytes, size_t size) {
    if (fd_below(fd) && fails("read")) {
        errno = fail_errno;
        return -1;
    }
    return REAL(read)(fd, bytes, size);
}

ssize_t pread64(int fd, void *bytes, size_t size, off64_t at) {
    if (fd_below(fd) && fails("read")) {
        errno = fail_errno;
        return -1;
    }
    return REAL(pread64)(fd, bytes, size, at);
}

// Every call is a second before the last one.
int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = REAL(clock_gettime)(clock, time);
    int back = ready && (strcmp(operation, "clock") == 0 || (strcmp(operation, "date") == 0 && clock == CLOCK_REALTIME));
    if (result == 0 && back) time->tv_sec -= ++calls;
    return result;
}
