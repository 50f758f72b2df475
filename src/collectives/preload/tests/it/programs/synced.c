/* A library that comes after libcolltune.so: it says when this process waits for a disk. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int fsync(int file) {
    fprintf(stderr, "synced\n");
    return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file) {
    fprintf(stderr, "synced\n");
    return (int)syscall(SYS_fdatasync, file);
}
