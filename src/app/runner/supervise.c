/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parent of a daemon whose calls survive it. It does to the daemon what
 * systemd does to a service with Type=notify, FileDescriptorStoreMax= and
 * WatchdogSec=, by the same protocol (observe/store.h), and to the manager that
 * started it, if any, it is the daemon:
 *
 *   manager  <--- READY=1 once, STATUS=, RELOADING=1, STOPPING=1 --- supervisor
 *            <--- WATCHDOG=1: the supervisor's own --------------
 *   signals  ---> SIGTERM, SIGINT, SIGQUIT, SIGHUP are passed on -->  daemon
 *   daemon   ---> FDSTORE=1, FDSTOREREMOVE=1, WATCHDOG=1 ---------->  held here
 *   daemon   ---> UPGRADE=PROGRAM, UPGRADE=: app/runner/upgrade.h
 *   daemon   ---> HANGUP=1: a SIGHUP that came during an upgrade, given back
 *
 * It reads no options and keeps no state but descriptors and their names: there
 * is little that can fail. One thread; nothing blocks but poll(2). Only
 * messages of its child count.
 *
 *   RUNNING --- exits ----------------> the supervisor exits with its code
 *      ^  |--- dies by a signal ------> WAITING (unless it was to end)
 *      |  '--- misses the watchdog ---> SIGABRT, after a while SIGKILL
 *      '------ after the delay -------- WAITING
 *
 * Beside the daemon there may be the next one, from UPGRADE=PROGRAM until the
 * daemon says UPGRADED=1, which makes that one the daemon. What it stores and
 * removes before that counts from then on. Until then it dies with the daemon,
 * and is nobody's loss; SIGHUP waits for whichever of the two is left.
 *
 * The daemon may be subverted, and no program is started on its word alone: it
 * has the supervisor's path, or one that --upgrade-to allows.
 */
#define _GNU_SOURCE
#include "app/runner/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/runner/upgrade.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/trust.h"
#include "observe/log.h"
#include "observe/notify.h"

/* Before a daemon starts again that lived for less than LONG_RUN. The first
 * time it starts at once. */
#define DELAY_MIN (100 * CR_MS)
#define DELAY_MAX (10 * CR_SEC)
#define LONG_RUN (10 * CR_SEC)
/* Without a manager that has one. */
#define WATCHDOG (30 * CR_SEC)
/* For a daemon that is started again to be ready. */
#define START_LIMIT (60 * CR_SEC)
/* Time from SIGABRT to SIGKILL. */
#define ABORT_LIMIT (2 * CR_SEC)

enum {
	FEEDS = 3,	  /* of the manager's watchdog, within its time */
	RIGHTS_MAX = 253, /* descriptors of a message: SCM_MAX_FD */
	OWN_FDS = 16,	  /* that the supervisor needs itself */
	FIRST = 3,	  /* of the descriptors that are passed */
	TRIES = 3,	  /* of daemons that die before they are ready */
	NAME_SIZE = 256,  /* of a descriptor: systemd's limit */
	BURST = 1000	  /* messages between two looks at the clock */
};

struct kept {
	int fd;
	char *name;
	bool next; /* the next daemon has stored it */
	bool gone; /* the next daemon has removed it */
};

struct supervisor {
	char **argv;		/* of the daemon */
	const char *upgrade_to; /* NULL: own only */
	char own[PATH_MAX], program[PATH_MAX];
	struct notify up; /* the manager; fd -1: none */
	int sock, signals;
	char address[sizeof(((struct sockaddr_un *)0)->sun_path)];
	sigset_t mask; /* as it was at the start */

	struct kept *kept;
	unsigned n, room;

	pid_t child; /* 0: it waits for restart_at */
	pid_t next;  /* in an upgrade; 0: there is none */
	char next_program[PATH_MAX];
	bool upgraded; /* program was not started by hand */
	cr_ns started, fed, restart_at, fed_up;
	cr_ns aborted; /* SIGABRT was sent; 0: no */
	cr_ns watchdog;
	bool ready;	/* this daemon */
	bool once;	/* the manager has heard READY=1 */
	bool reloading; /* and waits for another */
	bool hangup;	/* SIGHUP waits until it is ready */
	bool ending;
	unsigned restarts; /* all */
	unsigned quick;	   /* daemons in a row that lived for a short time */
	unsigned unready;  /* ... that died before they were ready */
};

/* --- descriptors --- */

static void drop_kept(struct supervisor *s, unsigned i)
{
	(void)close(s->kept[i].fd);
	free(s->kept[i].name);
	s->kept[i] = s->kept[--s->n];
}

static void drop_all(struct supervisor *s)
{
	while (s->n)
		drop_kept(s, s->n - 1);
}

/* As the daemon says, or (@next) the next one, which leaves the daemon's. */
static void drop_named(struct supervisor *s, const char *name, bool next)
{
	for (unsigned i = s->n; i--;) {
		struct kept *k = &s->kept[i];

		if (strcmp(k->name, name) != 0)
			continue;
		if (k->next == next)
			drop_kept(s, i);
		else
			k->gone |= next;
	}
}

/* There is no next daemon any more: it is the daemon (@is), or was none. */
static void resolve_kept(struct supervisor *s, bool is)
{
	for (unsigned i = s->n; i--;) {
		struct kept *k = &s->kept[i];

		if (is ? k->gone : k->next)
			drop_kept(s, i);
		else
			k->next = k->gone = false;
	}
}

/* @fd is the supervisor's. False: it is closed. */
static bool keep_fd(struct supervisor *s, const char *name, int fd, bool next)
{
	struct kept k = { .fd = fd, .name = strdup(name), .next = next };
	unsigned room = s->room ? 2 * s->room : 64;

	if (s->n == s->room) {
		struct kept *more = realloc(s->kept, room * sizeof(*more));

		if (more) {
			s->kept = more;
			s->room = room;
		}
	}
	if (k.name && s->n < s->room) {
		s->kept[s->n++] = k;
		return true;
	}
	log_event(LOG_ERROR, "store-full", LOG_STR("name", name),
		  LOG_STR("why", "out of memory"));
	free(k.name);
	(void)close(fd);
	return false;
}

/* Printable, and no separator of LISTEN_FDNAMES. */
static bool name_is_allowed(const char *name)
{
	size_t len = strlen(name);

	for (const char *c = name; *c; c++)
		if (*c <= ' ' || *c > '~' || *c == ':')
			return false;
	return len && len < NAME_SIZE;
}

/* In the child: descriptor i becomes FIRST + i, all others close when the
 * daemon begins. @owner: room for the numbers of s->n. 0 or -errno. */
static int place_kept(const struct supervisor *s, unsigned *owner)
{
	int end = FIRST + (int)s->n;

	for (unsigned i = 0; i < s->n; i++)
		if (s->kept[i].fd < end)
			owner[s->kept[i].fd - FIRST] = i + 1;
	for (unsigned i = 0; i < s->n; i++) {
		int to = FIRST + (int)i, from = s->kept[i].fd;
		unsigned other = owner[i];

		if (from == to) {
			if (fcntl(to, F_SETFD, 0))
				return -errno;
			continue;
		}
		/* those before i are in their places */
		if (other > i + 1) {
			struct kept *k = &s->kept[other - 1];

			k->fd = fcntl(to, F_DUPFD_CLOEXEC, end);
			if (k->fd < 0)
				return -errno;
		}
		if (dup2(from, to) < 0)
			return -errno;
		(void)close(from);
	}
	return 0;
}

/* --- the daemon --- */

static int set_number(const char *name, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	return setenv(name, text, 1) ? -errno : 0;
}

static uint64_t store_limit(void)
{
	uint64_t limit = descriptors_limit();

	return limit > INT_MAX	 ? INT_MAX
	       : limit > OWN_FDS ? limit - OWN_FDS
				 : 0;
}

static int set_environment(const struct supervisor *s)
{
	size_t size = 1;
	char *names, *at;
	int err;

	for (unsigned i = 0; i < s->n; i++)
		size += strlen(s->kept[i].name) + 1;
	names = at = calloc(1, size);
	if (!names)
		return -ENOMEM;
	for (unsigned i = 0; i < s->n; i++)
		at = stpcpy(stpcpy(at, i ? ":" : ""), s->kept[i].name);
	err = setenv("LISTEN_FDNAMES", names, 1) ||
			      setenv("NOTIFY_SOCKET", s->address, 1)
		      ? -errno
		      : 0;
	free(names);
	if (!err)
		err = set_number("LISTEN_FDS", s->n);
	if (!err)
		err = set_number("LISTEN_PID", (uint64_t)getpid());
	if (!err)
		err = set_number("FDSTORE", store_limit());
	if (!err && setenv("CODEC_RUNNER_UPGRADE", "1", 1))
		err = -errno;
	if (!err)
		err = set_number("WATCHDOG_USEC",
				 (uint64_t)(s->watchdog / CR_US));
	return err;
}

/* @program is an open file: nobody puts another one in its place. A signal to
 * the supervisor's group is the supervisor's to pass on: twice would end the
 * daemon's drain. */
_Noreturn static void become_daemon(const struct supervisor *s, unsigned *owner,
				    int program)
{
	static char nothing[] = "";
	int fd = fcntl(program, F_DUPFD_CLOEXEC, FIRST + (int)s->n + 1);
	int err = fd < 0 ? -errno : place_kept(s, owner);

	if (!err)
		err = set_environment(s);
	(void)setpgid(0, 0);
	(void)signal(SIGPIPE, SIG_DFL);
	if (!err && !sigprocmask(SIG_SETMASK, &s->mask, NULL))
		(void)execveat(fd, nothing, s->argv, environ, AT_EMPTY_PATH);
	(void)fprintf(stderr, "codec-runner: cannot start the daemon: %s\n",
		      strerror(err ? -err : errno));
	_exit(1);
}

/* Root or this user, and nobody else, can say what runs: 0 or -errno with @e.
 */
static int check_program(const char *path, const struct stat *st,
			 struct cr_err *e)
{
	const char *slash = strrchr(path, '/');
	struct cr_err who = { "" };
	char folder[PATH_MAX];

	if (!S_ISREG(st->st_mode) || !(st->st_mode & 0111))
		return cr_fail(e, -EACCES, "%s: is no program", path);
	if (trust_of(st, &who) != TRUST_OWN)
		return cr_fail(
			e, -EPERM,
			"%s is not started, as %s: chown root, chmod go-w",
			path, who.text);
	(void)snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path) + 1,
		       path);
	if (trust_of_path(folder, &who) != TRUST_OWN)
		return cr_fail(e, -EPERM,
			       "%s is not started, as of its folder %s: chown "
			       "root, chmod go-w",
			       path, who.text);
	return 0;
}

/* The process of a daemon that runs @path; or -errno with @e. @checked: it is
 * not the program that was started by hand. */
static pid_t fork_daemon(struct supervisor *s, const char *path, bool checked,
			 struct cr_err *e)
{
	unsigned *owner = calloc(s->n + 1, sizeof(*owner));
	int program = open(path, O_PATH | O_CLOEXEC);
	struct stat st;
	pid_t pid;

	if (*path != '/')
		pid = cr_fail(e, -EINVAL, "%s: give the whole path", path);
	else if (program < 0 || fstat(program, &st))
		pid = cr_fail(e, -errno, "%s: %s", path, strerror(errno));
	else
		pid = checked ? check_program(path, &st, e) : 0;
	if (!pid && !owner)
		pid = cr_fail(e, -ENOMEM, "out of memory");
	if (!pid) {
		pid = fork();
		if (!pid)
			become_daemon(s, owner, program);
		if (pid < 0)
			pid = cr_fail(e, -errno, "no process: %s",
				      strerror(errno));
	}
	free(owner);
	if (program >= 0)
		(void)close(program);
	return pid;
}

static void start_daemon_process(struct supervisor *s)
{
	struct cr_err e = { "" };
	pid_t pid = fork_daemon(s, s->program, s->upgraded, &e);

	s->started = clock_now();
	s->child = pid > 0 ? pid : 0;
	s->ready = s->hangup = false;
	s->aborted = 0;
	if (s->child)
		return;
	log_event(LOG_ERROR, "not-restarted", LOG_STR("why", e.text));
	s->restart_at = s->started + DELAY_MAX;
}

/* --- upgrades --- */

/* SIGHUP goes to the daemon that stays: when it is ready, and no next one is
 * there. One that starts reads what there is. */
static void hang_up(struct supervisor *s)
{
	s->hangup = s->child && (!s->ready || s->next);
	if (s->child && !s->hangup)
		(void)kill(s->child, SIGHUP);
}

static int check_path(const struct supervisor *s, const char *program,
		      struct cr_err *e)
{
	if (!strcmp(program, s->own) ||
	    (s->upgrade_to &&
	     !fnmatch(s->upgrade_to, program, FNM_PATHNAME | FNM_PERIOD)))
		return 0;
	return cr_fail(e, -EPERM,
		       "%s is not started: only %s, and what --upgrade-to "
		       "allows (%s)",
		       program, s->own,
		       s->upgrade_to ? s->upgrade_to : "nothing");
}

/* The next daemon has gone, or is the daemon (@is). */
static void resolve_next(struct supervisor *s, bool is)
{
	s->next = 0;
	resolve_kept(s, is);
	if (s->hangup && !is)
		hang_up(s);
}

/* Start @program beside the daemon. If it cannot be started, the daemon reads
 * the reason from @hand_over; if @hand_over cannot be kept, it reads its end: a
 * process without a hand-over would take the calls as after a crash. */
static void start_next(struct supervisor *s, const char *program, int hand_over)
{
	struct cr_err e = { "" };
	char text[512];
	pid_t pid;

	if (!keep_fd(s, UPGRADE_NAME "+0.1", hand_over, false))
		return;
	if (s->next)
		pid = cr_fail(&e, -EBUSY, "an upgrade is under way");
	else if (!s->ready || s->ending)
		pid = cr_fail(&e, -EBUSY, "the daemon is not ready, or ends");
	else if (!(pid = check_path(s, program, &e)))
		pid = fork_daemon(s, program, true, &e);
	if (pid > 0) {
		s->next = pid;
		(void)snprintf(s->next_program, sizeof(s->next_program), "%s",
			       program);
		log_event(LOG_INFO, "upgrade", LOG_INT("pid", pid),
			  LOG_STR("program", program));
	} else {
		(void)snprintf(text, sizeof(text), "failed %.500s", e.text);
		(void)send(hand_over, text, strlen(text),
			   MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	drop_named(s, UPGRADE_NAME "+0.1", false);
}

/* It may have ended by itself, and waits to be reaped then. */
static void end_next(struct supervisor *s)
{
	if (!s->next)
		return;
	(void)kill(s->next, SIGKILL);
	(void)waitpid(s->next, NULL, 0);
	s->next_program[0] = '\0';
	resolve_next(s, false);
}

/* The daemon has given all that it had to the next one, and ends. */
static void promote_next(struct supervisor *s)
{
	if (!s->next_program[0]) /* there was none: it may be subverted */
		return;
	log_event(LOG_INFO, "upgraded", LOG_INT("pid", s->next),
		  LOG_INT("was", s->child));
	s->child = s->next; /* 0: it has died since, and another one starts */
	s->ready = false;
	resolve_next(s, true);
	s->started = s->restart_at = clock_now();
	s->aborted = 0;
	s->upgraded = true;
	memcpy(s->program, s->next_program, sizeof(s->program));
	s->next_program[0] = '\0';
	if (s->ending && s->child)
		(void)kill(s->child, SIGTERM);
}

/* --- what it says --- */

/* Take a line of a notification. True: it goes to the manager, too. */
static bool take_notice(struct supervisor *s, const char *line)
{
	if (!strcmp(line, "WATCHDOG=1")) {
		s->fed = clock_now();
		return false;
	}
	if (!strcmp(line, "HANGUP=1")) {
		hang_up(s);
		return false;
	}
	if (!strcmp(line, "READY=1")) {
		bool first = !s->once || s->reloading;

		s->once = s->ready = true;
		s->reloading = false;
		if (s->hangup)
			hang_up(s);
		s->unready = 0;
		s->fed = clock_now();
		return first;
	}
	s->reloading |= !strcmp(line, "RELOADING=1");
	s->ending |= !strcmp(line, "STOPPING=1");
	return true;
}

/* Of the daemon, or (@next) of the next one, which only stores and removes. */
static void take_message(struct supervisor *s, bool next, char *text,
			 const int *fd, unsigned nfd)
{
	char up[1024] = "", *rest = text, *line;
	const char *name = "stored", *program = NULL;
	bool put = false, removed = false, upgraded = false;
	size_t len = 0;

	while ((line = strsep(&rest, "\n"))) {
		if (!strcmp(line, "FDSTORE=1"))
			put = true;
		else if (!strcmp(line, "FDSTOREREMOVE=1"))
			removed = true;
		else if (!strncmp(line, "FDNAME=", 7))
			name = line + 7;
		else if (!strncmp(line, "UPGRADE=", 8))
			program = line + 8;
		else if (!next && !strcmp(line, "UPGRADED=1"))
			upgraded = true;
		else if (!next && *line && strncmp(line, "FDPOLL=", 7) &&
			 take_notice(s, line) && len < sizeof(up))
			len += (size_t)snprintf(up + len, sizeof(up) - len,
						"%s%s", len ? "\n" : "", line);
	}
	if (upgraded)
		promote_next(s);
	if (program && !next && !*program)
		end_next(s);
	if (program && !next && *program && nfd == 1) {
		start_next(s, program, *fd);
		return;
	}
	put &= name_is_allowed(name);
	if (removed)
		drop_named(s, name, next);
	for (unsigned i = 0; i < nfd; i++)
		if (put)
			(void)keep_fd(s, name, fd[i], next);
		else
			(void)close(fd[i]);
	if (len && len < sizeof(up))
		(void)notify_send(&s->up, "%s", up);
}

/* Take a message. False: there is none. */
static bool hear_daemon(struct supervisor *s)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(struct ucred)) +
			   CMSG_SPACE(RIGHTS_MAX * sizeof(int))];
	} control;
	char text[4096];
	struct iovec iov = { text, sizeof(text) - 1 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	int fd[RIGHTS_MAX];
	unsigned nfd = 0;
	pid_t sender = 0;
	ssize_t got = recvmsg(s->sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (got < 0)
		return errno == EINTR;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		struct ucred who;

		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS) {
			memcpy(&who, CMSG_DATA(c), sizeof(who));
			sender = who.pid;
		} else if (c->cmsg_type == SCM_RIGHTS) {
			size_t len = c->cmsg_len - CMSG_LEN(0);

			memcpy(fd, CMSG_DATA(c), len);
			nfd = (unsigned)(len / sizeof(*fd));
		}
	}
	if (m.msg_flags & MSG_CTRUNC)
		log_event(LOG_ERROR, "store-full", LOG_INT("descriptors", s->n),
			  LOG_STR("why", "out of file descriptors"));
	text[got] = '\0';
	if (sender && (sender == s->child || sender == s->next) &&
	    !(m.msg_flags & MSG_TRUNC))
		take_message(s, sender == s->next, text, fd, nfd);
	else
		while (nfd)
			(void)close(fd[--nfd]);
	return true;
}

/* --- its end --- */

/* A state that a daemon cannot even start with is none. */
static void give_up_state(struct supervisor *s)
{
	if (s->ready || ++s->unready < TRIES || !s->n)
		return;
	log_event(LOG_ERROR, "store-dropped", LOG_INT("descriptors", s->n),
		  LOG_INT("tries", s->unready),
		  LOG_STR("why", "no daemon gets ready with them"));
	drop_all(s);
}

static void plan_restart(struct supervisor *s, int sig)
{
	cr_ns now = clock_now(), delay = 0;

	if (now - s->started >= LONG_RUN)
		s->quick = 0;
	if (s->quick) {
		delay = DELAY_MIN;
		for (unsigned i = 1; i < s->quick && delay < DELAY_MAX; i++)
			delay *= 2;
	}
	delay = cr_ns_min(delay, DELAY_MAX);
	s->quick++;
	s->restarts++;
	give_up_state(s);
	log_event(LOG_ERROR, "daemon-died", LOG_INT("pid", s->child),
		  LOG_INT("signal", sig),
		  LOG_REAL("ran", (double)(now - s->started) / 1e9, 3),
		  LOG_INT("descriptors", s->n),
		  LOG_INT("restarts", s->restarts),
		  LOG_REAL("restart-after", (double)delay / 1e9, 1));
	s->child = 0;
	s->restart_at = now + delay;
	(void)notify_send(&s->up,
			  "STATUS=the daemon died by signal %d: "
			  "restart %u",
			  sig, s->restarts);
}

/* Of all children: in a container those of others come here, too. Whether the
 * supervisor ends, with @code. */
static bool reap_children(struct supervisor *s, int *code)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		/* pending output of a daemon that has ended */
		for (unsigned i = 0; i < BURST && hear_daemon(s); i++)
			;
		if (pid == s->next)
			resolve_next(s, false);
		if (pid != s->child)
			continue;
		s->hangup = false; /* the next one reads what there is */
		/* what it has half of, a fresh one has whole */
		end_next(s);
		if (WIFEXITED(status) || s->ending) {
			*code = WIFEXITED(status) ? WEXITSTATUS(status)
						  : 128 + WTERMSIG(status);
			return true;
		}
		plan_restart(s, WTERMSIG(status));
	}
	return false;
}

/* Pass @sig on. True: the supervisor ends, as it only waits to start a daemon
 * that is not wanted any more. */
static bool pass_signal(struct supervisor *s, int sig)
{
	if (sig == SIGHUP) {
		hang_up(s);
		return false;
	}
	s->ending = true;
	if (s->child)
		(void)kill(s->child, sig);
	return !s->child;
}

/* The time at which the daemon counts as hung. The first start may take as long
 * as it likes: some options only measure and print. */
static cr_ns hangs_at(const struct supervisor *s)
{
	if (!s->child || s->ending)
		return CR_NEVER;
	if (s->aborted)
		return s->aborted + ABORT_LIMIT;
	if (s->ready)
		return s->fed + s->watchdog;
	return s->once || s->restarts ? s->started + START_LIMIT : CR_NEVER;
}

static void check_watchdog(struct supervisor *s, cr_ns now)
{
	if (now < hangs_at(s))
		return;
	if (s->aborted) {
		(void)kill(s->child, SIGKILL);
		s->aborted = now;
	} else {
		log_event(LOG_ERROR, "watchdog-missed",
			  LOG_INT("pid", s->child),
			  LOG_WORD("ready", s->ready ? "yes" : "no"));
		(void)kill(s->child, SIGABRT);
		s->aborted = now;
	}
}

/* --- the loop --- */

static cr_ns next_time(const struct supervisor *s)
{
	cr_ns next = CR_NEVER;

	if (s->up.watchdog)
		next = s->fed_up + s->up.watchdog / FEEDS;
	if (!s->child)
		next = cr_ns_min(next, s->restart_at);
	return cr_ns_min(next, hangs_at(s));
}

/* Do what is due. */
static void keep_time(struct supervisor *s)
{
	cr_ns now = clock_now();

	if (s->up.watchdog && now >= s->fed_up + s->up.watchdog / FEEDS) {
		(void)notify_send(&s->up, "WATCHDOG=1");
		s->fed_up = now;
	}
	check_watchdog(s, now);
	if (!s->child && now >= s->restart_at)
		start_daemon_process(s);
}

static int run_supervisor(struct supervisor *s)
{
	struct pollfd in[] = { { .fd = s->sock, .events = POLLIN },
			       { .fd = s->signals, .events = POLLIN } };
	struct signalfd_siginfo info;
	int code = 0;

	for (;;) {
		cr_ns next, wait;

		keep_time(s);
		next = next_time(s);
		wait = next == CR_NEVER ? -1 : cr_ns_max(next - clock_now(), 0);
		/* rounded up: not before it is due */
		if (wait >= 0)
			wait = cr_ns_min((wait + CR_MS - 1) / CR_MS, INT_MAX);
		if (poll(in, 2, (int)wait) < 0 && errno != EINTR)
			return 1;
		for (unsigned i = 0; i < BURST && hear_daemon(s); i++)
			;
		while (read(s->signals, &info, sizeof(info)) ==
		       (ssize_t)sizeof(info)) {
			int sig = (int)info.ssi_signo;

			if (sig == SIGCHLD ? reap_children(s, &code)
					   : pass_signal(s, sig))
				return code;
		}
	}
}

/* --- the start --- */

/* A name that the kernel chooses; any user may send to it, but see
 * hear_daemon(). */
static int open_socket(struct supervisor *s)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(at.sun_family);
	const int on = 1;

	s->sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s->sock < 0 || bind(s->sock, (struct sockaddr *)&at, len) ||
	    setsockopt(s->sock, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)))
		return -errno;
	len = sizeof(at);
	if (getsockname(s->sock, (struct sockaddr *)&at, &len))
		return -errno;
	(void)snprintf(s->address, sizeof(s->address), "@%.*s",
		       (int)(len - offsetof(struct sockaddr_un, sun_path) - 1),
		       at.sun_path + 1);
	return 0;
}

static int open_signalfd(struct supervisor *s)
{
	static const int all[] = { SIGCHLD, SIGTERM, SIGINT, SIGQUIT, SIGHUP };
	sigset_t set;

	(void)sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		(void)sigaddset(&set, all[i]);
		/* one that is ignored does not come */
		(void)signal(all[i], SIG_DFL);
	}
	(void)signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, &s->mask))
		return -errno;
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals < 0 ? -errno : 0;
}

/* The program's own path: after an upgrade of the package a restart runs the
 * new one. The daemon itself does not supervise. */
static int prepare_program(struct supervisor *s, char **argv)
{
	static char off[] = "--supervise=no";
	ssize_t len = readlink("/proc/self/exe", s->own, sizeof(s->own) - 1);
	size_t argc = 0;

	if (len < 0)
		return -errno;
	memcpy(s->program, s->own, sizeof(s->own));
	while (argv[argc])
		argc++;
	s->argv = calloc(argc + 2, sizeof(*s->argv));
	if (!s->argv)
		return -ENOMEM;
	memcpy(s->argv, argv, argc * sizeof(*argv));
	s->argv[argc] = off;
	return 0;
}

int supervise(char **argv, const char *upgrade_to)
{
	static struct supervisor s = { .sock = -1, .signals = -1 };
	struct cr_err e = { "" };
	int err, code = 1;

	s.upgrade_to = upgrade_to;
	descriptors_raise();
	err = notify_open(&s.up, &e);
	if (!err)
		err = prepare_program(&s, argv);
	if (!err)
		err = open_socket(&s);
	if (!err)
		err = open_signalfd(&s);
	if (err) {
		(void)fprintf(stderr, "codec-runner: --supervise: %s\n",
			      *e.text ? e.text : strerror(-err));
	} else {
		s.watchdog = s.up.watchdog ? s.up.watchdog : WATCHDOG;
		code = run_supervisor(&s);
	}
	drop_all(&s);
	free(s.kept);
	free(s.argv);
	notify_close(&s.up);
	return code;
}
