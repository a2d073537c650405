/* A disk that can be watched and that can fail, for one process: LD_PRELOAD it.

   Every flush of a file is written to the file WATCHED, with the file's name.  While the file FAULT exists and its
   text is "flush", a flush of a ledger fails with EIO; while it is "full", writing to a ledger fails with ENOSPC; while
   it is "full-wal", writing to its log; while it is "full-late", writing to the ledger itself, once it has a log. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int name_of(int handle, char *name, int size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(link, name, size - 1);
    name[length < 0 ? 0 : length] = 0;
    return length > 0;
}

static int fails(int handle, const char *how) {
    char name[4096], text[16] = "";
    int file = open(getenv("FAULT"), O_RDONLY);
    if (file < 0) return 0;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    return length > 0 && !strcmp(text, how) && name_of(handle, name, sizeof name) && strstr(name, ".ledger");
}

static int is_full(int handle) {
    char name[4096];
    if (fails(handle, "full")) return 1;
    if (fails(handle, "full-late") && name_of(handle, name, sizeof name - 4) && !strstr(name, "-wal"))
        return !access(strcat(name, "-wal"), F_OK);
    return fails(handle, "full-wal") && name_of(handle, name, sizeof name) && strstr(name, "-wal");
}

static int flushed(int handle, const char *call) {
    char name[4096], line[4200];
    int (*real)(int) = dlsym(RTLD_NEXT, call);
    int failed = fails(handle, "flush");
    if (failed) errno = EIO;
    int result = failed ? -1 : real(handle);
    if (!name_of(handle, name, sizeof name)) return result;
    char *base = strrchr(name, '/');
    int length = snprintf(line, sizeof line, "%s %s\n", result ? "failed" : "flushed", base ? base + 1 : name);
    int before = errno, file = open(getenv("WATCHED"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (write(file, line, length) != length) abort();
    close(file);
    errno = before;
    return result;
}

int fsync(int handle) { return flushed(handle, "fsync"); }
int fdatasync(int handle) { return flushed(handle, "fdatasync"); }

ssize_t pwrite64(int handle, const void *bytes, size_t size, off64_t offset) {
    ssize_t (*real)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
    if (is_full(handle)) { errno = ENOSPC; return -1; }
    return real(handle, bytes, size, offset);
}

ssize_t pwrite(int handle, const void *bytes, size_t size, off_t offset) {
    ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
    if (is_full(handle)) { errno = ENOSPC; return -1; }
    return real(handle, bytes, size, offset);
}
