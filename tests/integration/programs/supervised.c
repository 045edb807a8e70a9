/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon that does what lines of standard input say, and its supervisor: what
 * codec-runner --supervise does for a daemon that holds descriptors.
 *
 * With an argument, that is --upgrade-to. SIGHUP prints "hangup PID".
 *
 * At the start it takes all that was passed and prints it:
 *   ready PID NAME=TEXT,TEXT NAME=TEXT...
 *
 *   put NAME TEXT...   hold files with these texts
 *   many N             hold N files, m0 to mN-1
 *   remove NAME        hold them no longer
 *   upgrade PROGRAM    have the next daemon started, and print what it says:
 *                      "ready", or "failed WHY"
 *   cancel             ... and killed
 *   upgraded           ... or that is the daemon, and this one exits
 *   exit CODE
 * After each it prints "done", but for the last two. With something held under
 * "poison" it dies before it is ready. The next daemon stores "next" under "a"
 * and "n" before it is ready, and obeys when it is the daemon.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/runner/supervise.h"
#include "app/runner/upgrade.h"
#include "observe/store.h"

static struct notify manager;

static char names[10000][STORE_NAME_MAX];
static unsigned count;

static void note_name(void *arg, const char *name)
{
	(void)arg;
	(void)snprintf(names[count++], STORE_NAME_MAX, "%s", name);
}

static void print_passed(void)
{
	printf("ready %d", (int)getpid());
	store_each(&manager, note_name, NULL);
	for (unsigned i = 0; i < count; i++) {
		int fd[STORE_FDS_MAX];
		int n = store_take(&manager, names[i], fd, STORE_FDS_MAX);

		printf(" %s=", names[i]);
		for (int k = 0; k < n; k++) {
			char text[64];
			ssize_t len = pread(fd[k], text, sizeof(text), 0);

			printf("%s%.*s", k ? "," : "", (int)len, text);
		}
	}
	(void)puts("");
	(void)fflush(stdout);
}

static int make_file(const char *text)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	return fd;
}

/* The manager's queue is short. */
static void wait_for_manager(void)
{
	while (store_retry(&manager))
		(void)poll(NULL, 0, 1);
}

static void put_texts(char *words)
{
	const char *name = strsep(&words, " "), *text;
	int fd[STORE_FDS_MAX];
	unsigned n = 0;

	while ((text = strsep(&words, " ")))
		fd[n++] = make_file(text);
	if (store_put(&manager, name, fd, n))
		abort();
}

static void put_many(unsigned n)
{
	char name[16], text[16];

	for (unsigned i = 0; i < n; i++) {
		int fd;

		(void)snprintf(name, sizeof(name), "m%u", i);
		(void)snprintf(text, sizeof(text), "%u", i);
		fd = make_file(text);
		if (store_put(&manager, name, &fd, 1))
			abort();
	}
}

/* A signal interrupts, where a sanitizer calls its handler later. */
static ssize_t read_some(int fd, void *to, size_t size)
{
	ssize_t n;

	do {
		n = read(fd, to, size);
	} while (n < 0 && errno == EINTR);
	return n;
}

/* A daemon that follows reads the lines behind this one. */
static bool read_line(char *line, size_t size)
{
	size_t n = 0;

	while (n < size - 1 && read_some(STDIN_FILENO, &line[n], 1) == 1)
		if (line[n++] == '\n') {
			line[n - 1] = '\0';
			return true;
		}
	return false;
}

static int hand_over = -1;

static void start_next_daemon(const char *program)
{
	char more[300], said[300];
	ssize_t len;
	int pair[2];

	(void)snprintf(more, sizeof(more), "UPGRADE=%s", program);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) ||
	    store_offer(&manager, UPGRADE_NAME, pair[1], more))
		abort();
	(void)close(pair[1]);
	hand_over = pair[0];
	len = read_some(hand_over, said, sizeof(said));
	printf("%.*s\n", (int)len, said);
}

static void cancel_next_daemon(void)
{
	char said;

	(void)notify_send(&manager, "UPGRADE=");
	while (read_some(hand_over, &said, 1) > 0)
		;
	(void)close(hand_over);
}

/* As the next daemon, by @fd, until it is the daemon. */
static void be_next(int fd)
{
	char names_of_next[][8] = { "a next", "n next" }, said;

	put_texts(names_of_next[0]);
	put_texts(names_of_next[1]);
	wait_for_manager();
	if (write(fd, "ready", 5) != 5)
		abort();
	/* without the word the other one has died, and it is killed */
	while (read_some(fd, &said, 1) != 1)
		(void)poll(NULL, 0, 1000);
	(void)close(fd);
}

static void on_hangup(int sig)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "hangup %d\n", (int)getpid());

	(void)sig;
	if (write(STDOUT_FILENO, text, (size_t)len) != len)
		abort();
}

static int obey(void)
{
	struct cr_err e = { "" };
	char line[256];
	int fd;

	if (notify_open(&manager, &e))
		return 1;
	(void)signal(SIGHUP, on_hangup);
	if (store_take(&manager, UPGRADE_NAME, &fd, 1) == 1)
		be_next(fd);
	print_passed();
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(names[i], "poison"))
			(void)raise(SIGABRT);
	(void)notify_send(&manager, "READY=1");
	while (read_line(line, sizeof(line))) {
		char *rest = line;
		const char *verb = strsep(&rest, " ");

		if (!strcmp(verb, "put"))
			put_texts(rest);
		else if (!strcmp(verb, "many"))
			put_many((unsigned)atoi(rest));
		else if (!strcmp(verb, "remove"))
			store_remove(&manager, rest);
		else if (!strcmp(verb, "upgrade"))
			start_next_daemon(rest);
		else if (!strcmp(verb, "cancel"))
			cancel_next_daemon();
		else if (!strcmp(verb, "upgraded"))
			return notify_send(&manager, "UPGRADED=1") ||
			       write(hand_over, "!", 1) != 1;
		else if (!strcmp(verb, "exit"))
			return atoi(rest);
		wait_for_manager();
		(void)puts("done");
		(void)fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (strcmp(argv[argc - 1], "--supervise=no"))
		return supervise(argv, argv[1]);
	return obey();
}
