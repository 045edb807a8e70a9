/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rights that a process gives up before it serves anybody: system calls, and
 * root's rights.
 *
 * Which system calls a daemon needs was found by tracing every test of the real
 * programs, on Debian 12 and 13 and x86-64; those beside them are what the same
 * functions of the C library call on other machines and in other versions.
 */
#define _GNU_SOURCE
#include "sandbox/sandbox.h"

#include <asm/termbits.h> /* TCGETS2 has its struct */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <pwd.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <seccomp.h>

#include "base/sanitized.h"

int filter_no_new_privileges(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}

static int syscall_number(const char *name)
{
	return seccomp_syscall_resolve_name(name);
}

/* @c has that answer, under its conditions. */
static int add_rule(scmp_filter_ctx f, uint32_t answer,
		    const struct syscall_rule *c)
{
	struct scmp_arg_cmp only[CALL_CONDITIONS + 1];
	unsigned n = 0;
	int nr = syscall_number(c->name);

	/* of another machine, or newer than the library */
	if (nr == __NR_SCMP_ERROR)
		return 0;
	if (c->own)
		only[n++] = SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0);
	for (unsigned i = 0; i < CALL_CONDITIONS && c->only[i].mask; i++)
		only[n++] = SCMP_CMP(c->only[i].arg, SCMP_CMP_MASKED_EQ,
				     c->only[i].mask, c->only[i].value);
	return seccomp_rule_add_array(f, answer, nr, n, only);
}

static int allow_all(scmp_filter_ctx f, const struct syscall_rule *list)
{
	int err = 0;

	for (const struct syscall_rule *c = list; c->name && !err; c++)
		err = add_rule(f, SCMP_ACT_ALLOW, c);
	return err;
}

/* No rule may say what is said of all others. */
static int end_by(scmp_filter_ctx f, const char *const *list)
{
	int err = 0;

	for (; *list && !err; list++) {
		int nr = syscall_number(*list);

		if (nr != __NR_SCMP_ERROR)
			err = seccomp_rule_add(f, SCMP_ACT_KILL_PROCESS, nr, 0);
	}
	return err;
}

/* An old kernel does without the attributes that it does not know. */
static int prepare_filter(scmp_filter_ctx f, bool logs)
{
	(void)seccomp_attr_set(f, SCMP_FLTATR_API_SYSRAWRC, 1);
	(void)seccomp_attr_set(f, SCMP_FLTATR_CTL_LOG, logs);
	/* before Linux 5.16 a filter would cost speed for what matters to
	 * programs that run foreign code beside secrets */
	(void)seccomp_attr_set(f, SCMP_FLTATR_CTL_SSB, 1);
	(void)seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	(void)seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH,
			       SCMP_ACT_KILL_PROCESS);
	return seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1);
}

/* By a filter of its own, which does not log: threads try it each. */
static int refuse_quietly(const struct syscall_rule *list)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
	int err = f ? prepare_filter(f, false) : -ENOMEM;

	for (; list->name && !err; list++)
		err = add_rule(f, SCMP_ACT_ERRNO((uint16_t)list->err), list);
	if (!err)
		err = seccomp_load(f);
	seccomp_release(f);
	return err;
}

static int fill_filter(scmp_filter_ctx f, bool uring, bool strict)
{
	int err = prepare_filter(f, true);

	if (!err)
		err = allow_all(f, calls_needed);
	if (!err && uring)
		err = allow_all(f, calls_uring);
	/* by this filter: the other one knows better */
	if (!err)
		err = allow_all(f, calls_refused);
	if (!err && !strict)
		err = end_by(f, calls_hostile);
	return err;
}

int filter_enter(bool uring, bool strict, struct cr_err *e)
{
	scmp_filter_ctx f;
	int err = -ENOMEM;

	/* they stop and look at the process by ptrace(2) when it ends, and
	 * start a program that reads symbols when they have found something */
	if (SANITIZED)
		return cr_fail(e, -ENOTSUP,
			       "a build with sanitizers needs ptrace()");
	f = seccomp_init(strict ? SCMP_ACT_KILL_PROCESS
				: SCMP_ACT_ERRNO(EPERM));
	if (f)
		err = fill_filter(f, uring, strict);
	/* first, as the filter itself would not let another one in */
	if (!err)
		err = refuse_quietly(calls_refused);
	if (!err)
		err = seccomp_load(f);
	seccomp_release(f);
	if (err > 0) /* a thread with a filter of its own */
		err = -ESRCH;
	return err ? cr_fail(e, err, "seccomp: %s", strerror(-err)) : 0;
}

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

const struct syscall_rule calls_needed[] = {
	/* files: logs, records, traces, conversions, plug-ins */
	ANY(open), ANY(openat), ANY(close), ANY(close_range), ANY(read),
	ANY(write), ANY(readv), ANY(writev), ANY(pread64), ANY(pwrite64),
	ANY(preadv), ANY(pwritev), ANY(lseek), ANY(fcntl), ANY(flock),
	ANY(fstat), ANY(stat), ANY(lstat), ANY(newfstatat), ANY(statx),
	ANY(fstatfs), ANY(statfs), ANY(access), ANY(faccessat),
	ANY(faccessat2), ANY(readlink), ANY(readlinkat), ANY(getcwd),
	ANY(getdents64), ANY(ftruncate), ANY(memfd_create), ANY(fallocate), ANY(fadvise64),
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

const struct syscall_rule calls_uring[] = {
	ANY(io_uring_setup), ANY(io_uring_enter), ANY(io_uring_register),
	{ .name = NULL },
};

const struct syscall_rule calls_refused[] = {
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

int user_find(struct user *to, const char *name, struct cr_err *e)
{
	const struct passwd *p;

	errno = 0;
	p = getpwnam(name);
	if (!p && errno && errno != ENOENT)
		return cr_fail(e, -errno, "cannot look up the user '%s': %s",
			       name, strerror(errno));
	if (!p || strlen(name) >= sizeof(to->name))
		return cr_fail(e, -ENOENT, "there is no user '%s'", name);
	if (!p->pw_uid)
		return cr_fail(e, -EINVAL,
			       "'%s' is root: it must be a user "
			       "without privileges",
			       name);
	*to = (struct user){ .uid = p->pw_uid, .gid = p->pw_gid };
	memcpy(to->name, name, strlen(name) + 1);
	return 0;
}

/* Of the calling thread. A change of user has left it what it may have, or
 * nothing, and nothing that it has. */
static int keep_priorities(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct is[2], want[2] = { { 0, 0, 0 } };

	if (syscall(SYS_capget, &head, is))
		return -errno;
	/* in a container even root may not have it */
	want[0].permitted = is[0].permitted & (1u << CAP_SYS_NICE);
	want[0].effective = want[0].permitted;
	return syscall(SYS_capset, &head, want) ? -errno : 0;
}

int user_become(const struct user *u, bool priorities, struct cr_err *e)
{
	uid_t real, effective, saved;
	int err = 0;

	if (getresuid(&real, &effective, &saved))
		return cr_fail(e, -errno, "getresuid: %s", strerror(errno));
	if (real == u->uid && effective == u->uid && saved == u->uid)
		return 0;
	if (effective)
		return cr_fail(e, -EPERM, "only root can become '%s'", u->name);
	if (priorities && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
		err = -errno;
	if (!err &&
	    (initgroups(u->name, u->gid) || setresgid(u->gid, u->gid, u->gid) ||
	     setresuid(u->uid, u->uid, u->uid) ||
	     /* nothing came with it from root: as if that user had
	      * started it */
	     prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)))
		err = -errno;
	if (!err && priorities)
		err = keep_priorities();
	return err ? cr_fail(e, err, "cannot become '%s': %s", u->name,
			     strerror(-err))
		   : 0;
}
