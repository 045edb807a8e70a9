/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors that outlive the process: the service manager holds them
 * (systemd with FileDescriptorStoreMax=, or codec-runner --supervise) and
 * passes them to the next process that it starts. sd_pid_notify_with_fds(3) and
 * sd_listen_fds(3) document the protocol.
 *
 * Nothing here blocks: what the manager does not take at once waits here, and
 * is sent again by store_retry(). Without a store all of it does nothing.
 *
 * Thread rule: the control thread.
 */
#ifndef OBSERVE_STORE_H
#define OBSERVE_STORE_H

#include <stdbool.h>

#include "observe/notify.h"

enum {
	STORE_FDS_MAX = 64, /**< descriptors of one name: a port's receivers */
	STORE_NAME_MAX = 64 /**< with the NUL */
};

/** The numbers of a store. */
struct store_stats {
	unsigned names,
		held;	  /**< names and descriptors, those that wait, too */
	unsigned waiting; /**< names not yet sent to the manager */
	unsigned long long late;    /**< puts and removes that had to wait */
	unsigned long long refused; /**< puts beyond the manager's limit */
};

/**
 * Read LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES and FDSTORE, and take them out of
 * the environment. FDSTORE is the number of descriptors that the manager holds;
 * without it there is no store, and what was passed is closed. 0; or -ENOMEM:
 * there is none. notify_open() calls it.
 */
int store_open(struct notify *n);

/** Forget all; the manager keeps what it has. notify_close() calls it. */
void store_free(struct notify *n);

/** Does a manager hold descriptors? */
bool store_on(const struct notify *n);

/**
 * Have the manager hold @nfd descriptors under @name, in place of those it has
 * under that name. They must stay open until store_remove(). @name has letters,
 * digits, '.', '-' and '_' only.
 *
 * 0, also if there is no store; -EINVAL: such a name or number is not allowed;
 * -ENOSPC: the manager does not hold so many; -ENOMEM.
 */
int store_put(struct notify *n, const char *name, const int *fd, unsigned nfd);

/** The manager closes its descriptors of @name, if it has any. */
void store_remove(struct notify *n, const char *name);

/**
 * Take the descriptors that the manager passed under @name at the start, in the
 * order in which they were put. They are the caller's, close-on-exec; the
 * manager goes on to hold them until store_remove(). Returns their number: 0 if
 * there are none, or not all of them, or more than @nfd: then they stay for
 * store_close_rest().
 */
int store_take(struct notify *n, const char *name, int *fd, unsigned nfd);

/**
 * The same of one socket that listens at @at (port 0: any; or the path of a
 * Unix socket): -1: there is none.
 */
int store_take_listener(struct notify *n, const char *name,
			const struct sockaddr_storage *at);

/**
 * Have the manager pass @fd, as @name, to one new process, of which the lines
 * @more say more. Nothing of it waits. 0; -ENOTSUP: the manager is not
 * codec-runner --supervise, which has CODEC_RUNNER_UPGRADE in the environment;
 * -ENAMETOOLONG; or -errno.
 */
int store_offer(const struct notify *n, const char *name, int fd,
		const char *more);

/**
 * Another process has put @fd[@nfd], which are the store's from now on, under
 * @name since this one was started: as if they had been passed then. Names that
 * were are left as they are.
 */
void store_pass(struct notify *n, const char *name, const int *fd,
		unsigned nfd);

/** What the manager has under @name is another process's: it may be passed
 * again. What was not taken is closed. */
void store_forget(struct notify *n, const char *name);

/** Call @each with every name that was passed at the start and not taken. */
void store_each(struct notify *n, void (*each)(void *arg, const char *name),
		void *arg);

/** Close what was passed and not taken, and have the manager close it. Returns
 * the number of descriptors. */
unsigned store_close_rest(struct notify *n);

/** Have @waits called, once, when something has to wait for the manager. */
void store_on_wait(struct notify *n, void (*waits)(void *arg), void *arg);

/** Send what waits. Returns whether something still does: call it again, after
 * a while. */
bool store_retry(struct notify *n);

void store_stats(const struct notify *n, struct store_stats *s);

#endif
