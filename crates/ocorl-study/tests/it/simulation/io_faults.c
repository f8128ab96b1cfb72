/*
 * A layer between a test program and the C library (LD_PRELOAD) that counts the I/O calls on files below one folder, makes chosen ones fail,
 * simulates crashes and power cuts, and moves the clock. It is deterministic: it does what it is told, at the call it is told.
 *
 * The program gives commands by opening "/ocorl-faults/COMMAND"; the opened file holds the answer "calls=N fired=0|1".
 *
 *   watch/FOLDER      count calls on files below FOLDER
 *   arm/MODE/N        the N-th call from now on fails:
 *                       eio     it fails with EIO, once
 *                       full    it and all later writes fail with ENOSPC until "calm"
 *                       short   a write writes half, the next one fails with ENOSPC; another call fails with EIO
 *                       crash   it and all later calls that change files do nothing: the files stay as they are
 *                       torn    as crash, but a write is done in part
 *   cut/SEED          power cut: of what was not synchronised, each sector of 512 bytes is kept or lost at random; no file may be open
 *   clock/SECONDS     moves the wall clock
 *   calm              ends all faults; the answer has the counts since "arm"
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define REAL(type, name, ...) \
    static type (*real_##name)(__VA_ARGS__); \
    if (!real_##name) real_##name = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

enum mode { CALM, EIO_ONCE, FULL, SHORT, CRASH, TORN };

static enum mode mode = CALM;
static long calls, target, fired, moved;
static int frozen, short_next;
static char folder[4096];
static size_t folder_length;

/* Files below the folder, with their contents at the last synchronisation. */
struct file { char path[512]; char *durable; size_t size; };
static struct file files[256];
static int file_count;
static int file_of[4096]; /* 1 + index of the file that a descriptor belongs to, or 0 */

static int is_ours(const char *path)
{
    return folder_length && path && strncmp(path, folder, folder_length) == 0;
}

static struct file *of_fd(int fd)
{
    return fd >= 0 && fd < 4096 && file_of[fd] ? &files[file_of[fd] - 1] : NULL;
}

static struct file *of_path(const char *path)
{
    for (int i = 0; i < file_count; i++) if (strcmp(files[i].path, path) == 0) return &files[i];
    if (file_count == 256 || strlen(path) >= sizeof files[0].path) abort();
    struct file *file = &files[file_count++];
    memset(file, 0, sizeof *file);
    strcpy(file->path, path);
    return file;
}

static char *contents(const char *path, size_t *size)
{
    REAL(int, open64, const char *, int, ...);
    REAL(ssize_t, pread64, int, void *, size_t, off64_t);
    struct stat about;
    int fd = real_open64(path, O_RDONLY | O_CLOEXEC);
    *size = 0;
    if (fd < 0 || fstat(fd, &about)) return NULL;
    char *bytes = malloc((size_t)about.st_size + 1);
    ssize_t got = real_pread64(fd, bytes, (size_t)about.st_size, 0);
    close(fd);
    *size = got > 0 ? (size_t)got : 0;
    return bytes;
}

/* Remembers the contents of a file as they are on disk now. */
static void synchronised(struct file *file, int fd)
{
    REAL(ssize_t, pread64, int, void *, size_t, off64_t);
    struct stat about;
    if (fstat(fd, &about)) return;
    file->durable = realloc(file->durable, (size_t)about.st_size + 1);
    ssize_t got = real_pread64(fd, file->durable, (size_t)about.st_size, 0);
    file->size = got > 0 ? (size_t)got : 0;
}

static uint64_t random_state;
static uint64_t draw(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static void cut(void)
{
    REAL(int, open64, const char *, int, ...);
    REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
    for (int i = 0; i < file_count; i++) {
        struct file *file = &files[i];
        size_t size, length;
        const char *end = strrchr(file->path, '.');
        if (access(file->path, F_OK) || (end && strcmp(end, ".db-shm") == 0)) continue;
        char *now = contents(file->path, &size);
        length = draw() & 1 ? size : file->size;
        char *after = calloc(1, length + 1);
        for (size_t at = 0; at < length; at += 512) {
            size_t here = length - at < 512 ? length - at : 512;
            int old = (int)(draw() & 1);
            const char *from = old ? file->durable : now;
            size_t there = old ? file->size : size;
            if (from && at < there) memcpy(after + at, from + at, there - at < here ? there - at : here);
        }
        int fd = real_open64(file->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        if (fd >= 0) {
            if (real_pwrite64(fd, after, length, 0) != (ssize_t)length) abort();
            close(fd);
        }
        file->durable = realloc(file->durable, length + 1);
        memcpy(file->durable, after, length);
        file->size = length;
        free(now);
        free(after);
    }
}

static int command(const char *text)
{
    char answer[128];
    if (strncmp(text, "watch", 5) == 0) {
        folder_length = strlen(text + 5);
        if (folder_length >= sizeof folder) abort();
        strcpy(folder, text + 5);
        for (int i = 0; i < file_count; i++) free(files[i].durable);
        file_count = 0;
        memset(file_of, 0, sizeof file_of);
    } else if (strncmp(text, "arm/", 4) == 0) {
        static const char *const names[] = {"calm", "eio", "full", "short", "crash", "torn"};
        const char *number = strrchr(text, '/');
        size_t length = (size_t)(number - text - 4);
        for (int i = 1; i < 6; i++)
            if (strlen(names[i]) == length && strncmp(names[i], text + 4, length) == 0) mode = (enum mode)i;
        calls = fired = 0;
        target = atol(number + 1);
        frozen = short_next = 0;
    } else if (strncmp(text, "cut/", 4) == 0) {
        random_state = strtoull(text + 4, NULL, 10) * 2 + 1;
        for (int i = 0; i < 8; i++) draw();
        cut();
    } else if (strncmp(text, "clock/", 6) == 0) {
        moved = atol(text + 6);
    } else if (strcmp(text, "calm") == 0) {
        mode = CALM;
        frozen = short_next = 0;
    } else {
        errno = ENOENT;
        return -1;
    }
    int fd = memfd_create("ocorl-faults", MFD_CLOEXEC);
    int size = snprintf(answer, sizeof answer, "calls=%ld fired=%ld", calls, fired);
    REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
    if (real_pwrite64(fd, answer, (size_t)size, 0) != size) abort();
    return fd;
}

/* What happens to the next call: 0 it is done, -1 it fails with errno, 1 it is done in part. */
static int verdict(int changes, int writes)
{
    if (mode == CALM) return 0;
    if (frozen) { errno = EIO; return -1; }
    if (short_next && writes) { short_next = 0; errno = ENOSPC; return -1; }
    calls++;
    if (calls != target) {
        if (mode == FULL && fired && writes) { errno = ENOSPC; return -1; }
        return 0;
    }
    fired = 1;
    switch (mode) {
    case FULL:
        if (!changes) return 0;
        errno = ENOSPC;
        return -1;
    case SHORT:
        if (writes) { short_next = 1; return 1; }
        errno = EIO;
        return -1;
    case CRASH:
    case TORN:
        frozen = 1;
        if (mode == TORN && writes) return 1;
        errno = EIO;
        return -1;
    default:
        errno = EIO;
        return -1;
    }
}

static int opened(const char *path, int flags, mode_t rights, int (*real)(const char *, int, ...))
{
    if (strncmp(path, "/ocorl-faults/", 14) == 0) return command(path + 14);
    if (!is_ours(path)) return real(path, flags, rights);
    if (verdict(flags & (O_CREAT | O_TRUNC), 0)) return -1;
    int fd = real(path, flags, rights);
    if (fd >= 0 && fd < 4096 && !(flags & O_DIRECTORY)) file_of[fd] = 1 + (int)(of_path(path) - files);
    return fd;
}

int open(const char *path, int flags, ...)
{
    REAL(int, open, const char *, int, ...);
    va_list list;
    va_start(list, flags);
    mode_t rights = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
    va_end(list);
    return opened(path, flags, rights, real_open);
}

int open64(const char *path, int flags, ...)
{
    REAL(int, open64, const char *, int, ...);
    va_list list;
    va_start(list, flags);
    mode_t rights = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
    va_end(list);
    return opened(path, flags, rights, real_open64);
}

int close(int fd)
{
    REAL(int, close, int);
    if (fd >= 0 && fd < 4096) file_of[fd] = 0;
    return real_close(fd);
}

ssize_t read(int fd, void *to, size_t size)
{
    REAL(ssize_t, read, int, void *, size_t);
    if (of_fd(fd) && verdict(0, 0)) return -1;
    return real_read(fd, to, size);
}

ssize_t pread64(int fd, void *to, size_t size, off64_t at)
{
    REAL(ssize_t, pread64, int, void *, size_t, off64_t);
    if (of_fd(fd) && verdict(0, 0)) return -1;
    return real_pread64(fd, to, size, at);
}

ssize_t pread(int fd, void *to, size_t size, off_t at) { return pread64(fd, to, size, at); }

ssize_t write(int fd, const void *from, size_t size)
{
    REAL(ssize_t, write, int, const void *, size_t);
    int how = of_fd(fd) ? verdict(1, 1) : 0;
    if (how < 0) return -1;
    return real_write(fd, from, how ? (size + 1) / 2 : size);
}

ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at)
{
    REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
    int how = of_fd(fd) ? verdict(1, 1) : 0;
    if (how < 0) return -1;
    return real_pwrite64(fd, from, how ? (size + 1) / 2 : size, at);
}

ssize_t pwrite(int fd, const void *from, size_t size, off_t at) { return pwrite64(fd, from, size, at); }

int ftruncate64(int fd, off64_t size)
{
    REAL(int, ftruncate64, int, off64_t);
    if (of_fd(fd) && verdict(1, 0)) return -1;
    return real_ftruncate64(fd, size);
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

int fsync(int fd)
{
    REAL(int, fsync, int);
    struct file *file = of_fd(fd);
    if (file && verdict(1, 0)) return -1;
    if (file) { synchronised(file, fd); return 0; }
    return real_fsync(fd);
}

int fdatasync(int fd) { return fsync(fd); }

int unlink(const char *path)
{
    REAL(int, unlink, const char *);
    if (is_ours(path)) {
        if (verdict(1, 0)) return -1;
        struct file *file = of_path(path);
        free(file->durable);
        file->durable = NULL;
        file->size = 0;
    }
    return real_unlink(path);
}

int mkdir(const char *path, mode_t rights)
{
    REAL(int, mkdir, const char *, mode_t);
    if (is_ours(path) && verdict(1, 0)) return -1;
    return real_mkdir(path, rights);
}

int rename(const char *from, const char *to)
{
    REAL(int, rename, const char *, const char *);
    if (is_ours(to)) {
        if (verdict(1, 0)) return -1;
        struct file *old = of_path(from), *new = of_path(to);
        free(new->durable);
        new->durable = old->durable;
        new->size = old->size;
        old->durable = NULL;
        old->size = 0;
    }
    return real_rename(from, to);
}

void *mmap64(void *where, size_t size, int rights, int flags, int fd, off64_t at)
{
    REAL(void *, mmap64, void *, size_t, int, int, int, off64_t);
    if (of_fd(fd) && verdict(0, 0)) return MAP_FAILED;
    return real_mmap64(where, size, rights, flags, fd, at);
}

void *mmap(void *where, size_t size, int rights, int flags, int fd, off_t at)
{
    return mmap64(where, size, rights, flags, fd, at);
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    REAL(int, clock_gettime, clockid_t, struct timespec *);
    int result = real_clock_gettime(clock, time);
    if (clock == CLOCK_REALTIME) time->tv_sec += moved;
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    REAL(int, gettimeofday, struct timeval *, void *);
    int result = real_gettimeofday(time, zone);
    time->tv_sec += moved;
    return result;
}
