/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which system calls a daemon needs. Found by tracing every test of the real
 * programs, on Debian 12 and 13 and x86-64; those beside them are what the same
 * functions of the C library call on other machines and in other versions.
 */
#define _GNU_SOURCE
#include "sandbox/calls.h"

#include <asm/termbits.h> /* TCGETS2 has its struct */
#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* Of 32 bits: the kernel does not look at the others. */
#define ALL 0xffffffffu
/* Type without SOCK_CLOEXEC and SOCK_NONBLOCK. */
#define KIND 0xfu
/* PR_SET_VMA of Linux 5.17: names for memory. */
#define NAME_MEMORY 0x53564d41

/* clang-format off */
#define HAS(n, m, v) { .arg = (n), .mask = (m), .value = (v) }
#define IS(n, v) HAS(n, ALL, v)
#define ANY(n) { .name = #n }
#define OWN(n) { .name = #n, .own = true }
#define SOCKET(family, type)                                                   \
	{ .name = "socket", .only = { IS(0, family), HAS(1, KIND, type) } }
#define PRCTL(what) { .name = "prctl", .only = { IS(0, what) } }
#define IOCTL(what) { .name = "ioctl", .only = { IS(1, what) } }

const struct call calls_needed[] = {
	/* files: logs, records, traces, conversions, plug-ins */
	ANY(open), ANY(openat), ANY(close), ANY(close_range), ANY(read),
	ANY(write), ANY(readv), ANY(writev), ANY(pread64), ANY(pwrite64),
	ANY(preadv), ANY(pwritev), ANY(lseek), ANY(fcntl), ANY(flock),
	ANY(fstat), ANY(stat), ANY(lstat), ANY(newfstatat), ANY(statx),
	ANY(fstatfs), ANY(statfs), ANY(access), ANY(faccessat),
	ANY(faccessat2), ANY(readlink), ANY(readlinkat), ANY(getcwd),
	ANY(getdents64), ANY(ftruncate), ANY(fallocate), ANY(fadvise64),
	ANY(fsync), ANY(fdatasync), ANY(sync_file_range), ANY(mkdir),
	ANY(mkdirat), ANY(rename), ANY(renameat), ANY(renameat2), ANY(link),
	ANY(linkat), ANY(unlink), ANY(unlinkat), ANY(chmod), ANY(fchmod),
	ANY(fchmodat), ANY(umask), ANY(dup), ANY(dup2), ANY(dup3), ANY(pipe),
	ANY(pipe2), ANY(eventfd2),
	/* is this a terminal (since glibc 2.42: TCGETS2)? how much is there to
	 * read? does it block? */
	IOCTL(TCGETS), IOCTL(TCGETS2), IOCTL(TIOCGWINSZ), IOCTL(FIONREAD),
	IOCTL(FIONBIO), IOCTL(FIOCLEX), IOCTL(FIONCLEX),

	/* memory: never both written to and run */
	ANY(brk), ANY(munmap), ANY(mremap), ANY(madvise), ANY(membarrier),
	ANY(mincore), ANY(mlock), ANY(munlock),
	{ .name = "mmap", .only = { HAS(2, PROT_EXEC, 0) } },
	{ .name = "mmap", .only = { HAS(2, PROT_WRITE, 0) } },
	{ .name = "mprotect", .only = { HAS(2, PROT_EXEC, 0) } },

	/* threads; no processes */
	{ .name = "clone", .only = { HAS(0, CLONE_THREAD, CLONE_THREAD) } },
	ANY(set_robust_list), ANY(get_robust_list), ANY(rseq),
	ANY(set_tid_address), ANY(futex), ANY(futex_waitv), ANY(futex_wait),
	ANY(futex_wake), ANY(futex_requeue), ANY(gettid), ANY(getpid),
	ANY(exit), ANY(exit_group), OWN(tgkill), ANY(sched_yield),
	ANY(sched_getaffinity), ANY(sched_setaffinity), ANY(sched_getparam),
	ANY(sched_setparam), ANY(sched_getscheduler), ANY(sched_setscheduler),
	ANY(sched_getattr), ANY(sched_setattr), ANY(sched_get_priority_max),
	ANY(sched_get_priority_min), ANY(sched_rr_get_interval),
	ANY(getpriority), ANY(setpriority), ANY(getcpu), PRCTL(PR_SET_NAME),
	PRCTL(PR_GET_NAME), PRCTL(PR_SET_TIMERSLACK), PRCTL(PR_GET_TIMERSLACK),
	PRCTL(PR_GET_DUMPABLE), PRCTL(PR_CAPBSET_READ),
	PRCTL(PR_GET_NO_NEW_PRIVS), PRCTL(PR_GET_SECCOMP), PRCTL(NAME_MEMORY),

	/* signals */
	ANY(rt_sigaction), ANY(rt_sigprocmask), ANY(rt_sigreturn),
	ANY(rt_sigtimedwait), ANY(rt_sigpending), ANY(rt_sigsuspend),
	ANY(sigaltstack), ANY(signalfd4), ANY(restart_syscall), ANY(pause),

	/* time */
	ANY(clock_gettime), ANY(clock_getres), ANY(clock_nanosleep),
	ANY(nanosleep), ANY(gettimeofday), ANY(time), ANY(times),
	ANY(timerfd_create), ANY(timerfd_settime), ANY(timerfd_gettime),

	/* what it is, and has */
	ANY(getuid), ANY(geteuid), ANY(getgid), ANY(getegid), ANY(getppid),
	ANY(getgroups), ANY(getresuid), ANY(getresgid), ANY(capget),
	ANY(getrlimit), ANY(setrlimit), ANY(getrusage), ANY(sysinfo),
	ANY(uname), ANY(getrandom), OWN(prlimit64),
	{ .name = "prlimit64", .only = { IS(0, 0) } },

	/* the network: UDP, TCP, SCTP of the kernel, Unix sockets */
	SOCKET(AF_INET, SOCK_DGRAM), SOCKET(AF_INET, SOCK_STREAM),
	SOCKET(AF_INET, SOCK_SEQPACKET), SOCKET(AF_INET6, SOCK_DGRAM),
	SOCKET(AF_INET6, SOCK_STREAM), SOCKET(AF_INET6, SOCK_SEQPACKET),
	SOCKET(AF_UNIX, SOCK_DGRAM), SOCKET(AF_UNIX, SOCK_STREAM),
	/* which addresses and interfaces are there? usrsctp asks */
	IOCTL(SIOCGIFINDEX), IOCTL(SIOCGIFNAME), IOCTL(SIOCGIFMTU),
	{ .name = "socket",
	  .only = { IS(0, AF_NETLINK), HAS(1, KIND, SOCK_RAW),
		    IS(2, NETLINK_ROUTE) } },
	{ .name = "socketpair", .only = { IS(0, AF_UNIX) } },
	ANY(bind), ANY(listen), ANY(accept), ANY(accept4), ANY(connect),
	ANY(shutdown), ANY(getsockname), ANY(getpeername), ANY(getsockopt),
	ANY(setsockopt), ANY(recvfrom), ANY(recvmsg), ANY(recvmmsg),
	ANY(sendto), ANY(sendmsg), ANY(sendmmsg), ANY(poll), ANY(ppoll),
	ANY(select), ANY(pselect6), ANY(epoll_create), ANY(epoll_create1),
	ANY(epoll_ctl), ANY(epoll_wait), ANY(epoll_pwait), ANY(epoll_pwait2),
	{ .name = NULL },
};

const struct call calls_uring[] = {
	ANY(io_uring_setup), ANY(io_uring_enter), ANY(io_uring_register),
	{ .name = NULL },
};

const struct call calls_refused[] = {
	/* a filter cannot see what it makes: the C library takes clone() */
	{ .name = "clone3", .err = ENOSYS },
	{ .name = NULL },
};

const char *const calls_hostile[] = {
	/* another program; others' memory */
	"execve", "execveat", "ptrace", "process_vm_readv",
	"process_vm_writev", "pidfd_getfd",
	/* another user, other rights */
	"setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid",
	"setgroups", "setfsuid", "setfsgid", "capset", "keyctl", "add_key",
	"request_key",
	/* another view of the machine, or another machine */
	"unshare", "setns", "mount", "umount2", "move_mount", "open_tree",
	"fsopen", "fsmount", "fsconfig", "mount_setattr", "pivot_root",
	"chroot", "open_by_handle_at", "bpf", "userfaultfd", "perf_event_open",
	"init_module", "finit_module", "delete_module", "kexec_load",
	"kexec_file_load", "reboot", "swapon", "swapoff", "iopl", "ioperm",
	"personality", "acct", "quotactl",
	NULL,
};
/* clang-format on */
