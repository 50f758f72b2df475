/* Starts a program in which a system call is refused to one rank or to all, as in sandboxes.
 * usage: deny RANK|all memfd_create|fallocate PROGRAM ARGUMENTS... */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void deny(unsigned call, unsigned error) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("deny");
        exit(1);
    }
}

int main(int count, char **words) {
    if (count < 4) return 2;
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank) rank = getenv("PMI_RANK");
    if (!strcmp(words[1], "all") || (rank && !strcmp(rank, words[1]))) {
        if (!strcmp(words[2], "fallocate"))
            deny(SYS_fallocate, ENOSPC);
        else
            deny(SYS_memfd_create, EPERM);
    }
    execvp(words[3], words + 3);
    perror(words[3]);
    return 1;
}
