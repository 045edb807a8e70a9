/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptors that a service manager holds, by name.
 *
 * Managers keep no order among descriptors, those of one name included (systemd
 * passes the last one first). Therefore each has a name of its own here: those
 * of a pair "a" are "a+0.2" and "a+1.2".
 *
 *   put      drop = sent; sent = 0     then the names of @drop are removed, and
 *   remove   drop = sent; nfd = 0      the descriptors from @sent on are put:
 *                                      at once, or by store_retry()
 */
#define _GNU_SOURCE
#include "observe/store.h"

#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "observe/log.h"

/* SD_LISTEN_FDS_START */
enum { FIRST_PASSED = 3, PASSED_MAX = 1 << 20 };

/* Of all names, in LISTEN_FDNAMES: a string of the environment has 32 pages at
 * most (execve(2)), on any machine 4 KiB each. "+0.2:" or "+10.12:" is behind
 * each name. */
enum { NAMES_MAX = 32 * 4096 - 16, SUFFIX = 5, LONG_SUFFIX = 7 };

/* Descriptors of a name. */
struct held {
	RB_ENTRY(held) node;
	TAILQ_ENTRY(held) wait;
	bool waits;
	char name[STORE_NAME_MAX];
	int fd[STORE_FDS_MAX];	/* the caller's; of @passed: ours */
	unsigned nfd;		/* the manager should have so many */
	unsigned sent;		/* of them, it has */
	unsigned drop, drop_of; /* it had, of so many; they go first */
	uint64_t passed;	/* at the start, and not taken; bits */
};

RB_HEAD(held_tree, held);
TAILQ_HEAD(held_queue, held);

struct store {
	struct held_tree names;
	struct held_queue waiting;
	struct store_stats stats;
	unsigned long max;
	size_t bytes; /* of all names, as they are passed */
	bool full;    /* it has been logged */
	bool upgrades;
	void (*waits)(void *arg);
	void *arg;
};

static int compare_names(const struct held *a, const struct held *b)
{
	return strcmp(a->name, b->name);
}

RB_PROTOTYPE(held_tree, held, node, compare_names)
RB_GENERATE(held_tree, held, node, compare_names)

static bool name_is_good(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789.-_");

	return len && len < STORE_NAME_MAX && !name[len];
}

static struct held *find_held(const struct store *s, const char *name)
{
	struct held key;

	if (!name_is_good(name))
		return NULL;
	(void)snprintf(key.name, sizeof(key.name), "%s", name);
	return RB_FIND(held_tree, (struct held_tree *)&s->names, &key);
}

static struct held *have_held(struct store *s, const char *name)
{
	struct held *h = find_held(s, name);

	if (h)
		return h;
	h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	(void)snprintf(h->name, sizeof(h->name), "%s", name);
	(void)RB_INSERT(held_tree, &s->names, h);
	s->stats.names++;
	return h;
}

static void free_held(struct store *s, struct held *h)
{
	if (h->waits) {
		TAILQ_REMOVE(&s->waiting, h, wait);
		s->stats.waiting--;
	}
	(void)RB_REMOVE(held_tree, &s->names, h);
	s->stats.names--;
	free(h);
}

/* --- to the manager --- */

/* Lines, with a descriptor, or (-1) without. */
static int send_lines(const struct notify *n, const char *text, int fd)
{
	struct iovec iov = { .iov_base = (void *)text,
			     .iov_len = strlen(text) };
	struct msghdr m = { .msg_name = (void *)&n->to,
			    .msg_namelen = n->len,
			    .msg_iov = &iov,
			    .msg_iovlen = 1 };
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} rights = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
			       .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS } };

	if (fd >= 0) {
		memcpy(CMSG_DATA(&rights.head), &fd, sizeof(fd));
		m.msg_control = &rights;
		m.msg_controllen = sizeof(rights);
	}
	return sendmsg(n->fd, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* @fd -1: the name is removed. A descriptor is not watched by the manager: an
 * error at a socket is no reason to close it. */
static int send_name(const struct notify *n, const char *name, unsigned i,
		     unsigned of, int fd)
{
	char text[STORE_NAME_MAX + 64];

	(void)snprintf(text, sizeof(text), "%s\nFDNAME=%s+%u.%u",
		       fd < 0 ? "FDSTOREREMOVE=1" : "FDSTORE=1\nFDPOLL=0", name,
		       i, of);
	return send_lines(n, text, fd);
}

/* 0: the manager has heard all of it. */
static int send_to_manager(const struct notify *n, struct held *h)
{
	int err = 0;

	for (; h->drop && !err; h->drop -= !err)
		err = send_name(n, h->name, h->drop - 1, h->drop_of, -1);
	for (; h->sent < h->nfd && !err; h->sent += !err)
		err = send_name(n, h->name, h->sent, h->nfd, h->fd[h->sent]);
	return err;
}

static void wait_for_manager(struct notify *n, struct held *h, int err)
{
	struct store *s = n->store;

	s->stats.late++;
	if (h->waits)
		return;
	h->waits = true;
	TAILQ_INSERT_TAIL(&s->waiting, h, wait);
	if (s->stats.waiting++)
		return;
	log_event(LOG_WARN, "store-waits", LOG_STR("name", h->name),
		  LOG_STR("why", strerror(-err)));
	if (s->waits)
		s->waits(s->arg);
}

/* Send @h, or queue it behind others that wait. */
static void send_or_wait(struct notify *n, struct held *h)
{
	int err = n->store->stats.waiting ? -EAGAIN : send_to_manager(n, h);

	if (err)
		wait_for_manager(n, h, err);
	else if (!h->nfd)
		free_held(n->store, h);
}

bool store_retry(struct notify *n)
{
	struct store *s = n->store;
	struct held *h;

	if (!s || !s->stats.waiting)
		return false;
	while ((h = TAILQ_FIRST(&s->waiting)) && !send_to_manager(n, h)) {
		TAILQ_REMOVE(&s->waiting, h, wait);
		h->waits = false;
		s->stats.waiting--;
		if (!h->nfd)
			free_held(s, h);
	}
	if (!h)
		log_event(LOG_INFO, "store-goes-on",
			  LOG_INT("late", s->stats.late));
	return h != NULL;
}

/* --- by name --- */

static void close_passed(struct held *h)
{
	for (unsigned i = 0; i < STORE_FDS_MAX; i++)
		if (h->passed & UINT64_C(1) << i)
			(void)close(h->fd[i]);
	h->passed = 0;
}

/* Remove what the manager has of @h; nothing is put before that is done. */
static void forget_sent(struct held *h)
{
	close_passed(h);
	if (!h->sent)
		return;
	h->drop = h->sent;
	h->drop_of = h->nfd;
	h->sent = 0;
}

/* The bytes that the names of @nfd descriptors take. */
static size_t name_bytes(const char *name, unsigned nfd)
{
	return nfd * (strlen(name) + (nfd < 10 ? SUFFIX : LONG_SUFFIX));
}

static void set_number_held(struct store *s, struct held *h, unsigned nfd)
{
	s->stats.held += nfd - h->nfd;
	s->bytes += name_bytes(h->name, nfd) - name_bytes(h->name, h->nfd);
	h->nfd = nfd;
}

/* May @name hold @nfd descriptors? A refusal is counted; the first is logged.
 */
static bool has_descriptors_left(struct store *s, const char *name,
				 unsigned nfd)
{
	const struct held *h = find_held(s, name);
	unsigned had = h ? h->nfd : 0;
	bool full = s->stats.held - had + nfd > s->max ||
		    s->bytes - name_bytes(name, had) + name_bytes(name, nfd) >
			    NAMES_MAX;

	s->stats.refused += full;
	if (full && !s->full)
		log_event(LOG_WARN, "store-full",
			  LOG_INT("descriptors", s->stats.held),
			  LOG_INT("limit", s->max),
			  LOG_STR("why",
				  "the manager holds no more: calls from now "
				  "on end with this process"));
	s->full = full;
	return !full;
}

int store_put(struct notify *n, const char *name, const int *fd, unsigned nfd)
{
	struct store *s = n->store;
	struct held *h;

	if (!s)
		return 0;
	if (!name_is_good(name) || !nfd || nfd > STORE_FDS_MAX)
		return -EINVAL;
	if (!has_descriptors_left(s, name, nfd))
		return -ENOSPC;
	h = have_held(s, name);
	if (!h)
		return -ENOMEM;
	forget_sent(h);
	set_number_held(s, h, nfd);
	memcpy(h->fd, fd, nfd * sizeof(*fd));
	send_or_wait(n, h);
	return 0;
}

void store_remove(struct notify *n, const char *name)
{
	struct store *s = n->store;
	struct held *h = s ? find_held(s, name) : NULL;

	if (!h)
		return;
	forget_sent(h);
	set_number_held(s, h, 0);
	send_or_wait(n, h);
}

int store_take(struct notify *n, const char *name, int *fd, unsigned nfd)
{
	struct held *h = n->store ? find_held(n->store, name) : NULL;

	if (!h || !h->passed || h->nfd > nfd ||
	    h->passed != UINT64_MAX >> (STORE_FDS_MAX - h->nfd))
		return 0;
	memcpy(fd, h->fd, h->nfd * sizeof(*fd));
	h->passed = 0;
	return (int)h->nfd;
}

int store_take_listener(struct notify *n, const char *name,
			const struct sockaddr_storage *at)
{
	struct sockaddr_storage is = { .ss_family = AF_UNSPEC }, want = *at;
	socklen_t len = sizeof(is);
	int fd;

	if (store_take(n, name, &fd, 1) != 1)
		return -1;
	(void)getsockname(fd, (struct sockaddr *)&is, &len);
	if (want.ss_family == AF_UNIX) {
		if (!memcmp(&is, &want, sizeof(struct sockaddr_un)))
			return fd;
	} else {
		if (!address_port(&want))
			address_set_port(&want, address_port(&is));
		if (address_equal(&is, &want))
			return fd;
	}
	(void)close(fd);
	return -1;
}

int store_offer(const struct notify *n, const char *name, int fd,
		const char *more)
{
	char text[4096 + STORE_NAME_MAX + 64];

	if (!n->store || !n->store->upgrades)
		return -ENOTSUP;
	if (snprintf(text, sizeof(text),
		     "FDSTORE=1\nFDPOLL=0\nFDNAME=%s+0.1\n%s", name,
		     more) >= (int)sizeof(text))
		return -ENAMETOOLONG;
	return send_lines(n, text, fd);
}

void store_pass(struct notify *n, const char *name, const int *fd, unsigned nfd)
{
	struct store *s = n->store;
	bool had = !s || !name_is_good(name) || find_held(s, name);
	struct held *h = had ? NULL : have_held(s, name);

	for (unsigned i = 0; i < nfd; i++)
		if (!h) {
			(void)close(fd[i]);
		} else {
			h->passed |= UINT64_C(1) << i;
			h->fd[i] = fd[i];
		}
	if (!h)
		return;
	set_number_held(s, h, nfd);
	h->sent = nfd;
}

void store_forget(struct notify *n, const char *name)
{
	struct held *h = n->store ? find_held(n->store, name) : NULL;

	if (!h)
		return;
	close_passed(h);
	set_number_held(n->store, h, 0);
	free_held(n->store, h);
}

void store_each(struct notify *n, void (*each)(void *arg, const char *name),
		void *arg)
{
	struct held *h, *next;

	if (n->store)
		RB_FOREACH_SAFE (h, held_tree, &n->store->names, next)
			if (h->passed)
				each(arg, h->name);
}

unsigned store_close_rest(struct notify *n)
{
	struct held *h, *next;
	unsigned before;

	if (!n->store)
		return 0;
	before = n->store->stats.held;
	RB_FOREACH_SAFE (h, held_tree, &n->store->names, next)
		if (h->passed)
			store_remove(n, h->name);
	return before - n->store->stats.held;
}

/* --- at the start --- */

static unsigned long environment_number(const char *name)
{
	const char *text = getenv(name);
	char *end;
	unsigned long value;

	if (!text || *text < '0' || *text > '9')
		return 0;
	errno = 0;
	value = strtoul(text, &end, 10);
	return errno || *end ? 0 : value;
}

/* @text: "name+0.2", of @len bytes. What others have put, as a socket unit, is
 * nobody's here. */
static int keep_passed(struct store *s, const char *text, size_t len, int fd)
{
	char name[STORE_NAME_MAX];
	struct held *h;
	unsigned i, of;
	int end = 0;

	(void)snprintf(name, sizeof(name), "%.*s",
		       len < sizeof(name) ? (int)len : (int)sizeof(name), text);
	if (sscanf(text, "%*[^+:]+%2u.%2u%n", &i, &of, &end) != 2 ||
	    (size_t)end != len || !of || of > STORE_FDS_MAX || i >= of)
		return -EINVAL;
	name[strcspn(name, "+")] = '\0';
	if (!name_is_good(name))
		return -EINVAL;
	h = have_held(s, name);
	if (!h)
		return -ENOMEM;
	if (h->passed & UINT64_C(1) << i || (h->nfd && h->nfd != of))
		return -EEXIST;
	h->passed |= UINT64_C(1) << i;
	h->fd[i] = fd;
	set_number_held(s, h, of);
	h->sent = of;
	return 0;
}

static void read_passed(struct store *s)
{
	const char *names = getenv("LISTEN_FDNAMES");
	unsigned long n = environment_number("LISTEN_FDS");

	if (environment_number("LISTEN_PID") != (unsigned long)getpid() ||
	    n > PASSED_MAX)
		return;
	for (int fd = FIRST_PASSED; n--; fd++) {
		size_t len = names ? strcspn(names, ":") : 0;

		if (fcntl(fd, F_SETFD, FD_CLOEXEC))
			continue;
		if (!s || keep_passed(s, names ? names : "", len, fd))
			(void)close(fd);
		if (names)
			names += len + (names[len] == ':');
	}
}

int store_open(struct notify *n)
{
	unsigned long max = n->fd < 0 ? 0 : environment_number("FDSTORE");

	n->store = max ? calloc(1, sizeof(*n->store)) : NULL;
	if (n->store) {
		n->store->max = max;
		n->store->upgrades = getenv("CODEC_RUNNER_UPGRADE") != NULL;
		RB_INIT(&n->store->names);
		TAILQ_INIT(&n->store->waiting);
	}
	read_passed(n->store);
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	(void)unsetenv("FDSTORE");
	(void)unsetenv("CODEC_RUNNER_UPGRADE");
	return max && !n->store ? -ENOMEM : 0;
}

void store_free(struct notify *n)
{
	struct held *h, *next;

	if (!n->store)
		return;
	RB_FOREACH_SAFE (h, held_tree, &n->store->names, next) {
		close_passed(h);
		free_held(n->store, h);
	}
	free(n->store);
	n->store = NULL;
}

bool store_on(const struct notify *n)
{
	return n->store != NULL;
}

void store_on_wait(struct notify *n, void (*waits)(void *arg), void *arg)
{
	if (!n->store)
		return;
	n->store->waits = waits;
	n->store->arg = arg;
}

void store_stats(const struct notify *n, struct store_stats *s)
{
	*s = n->store ? n->store->stats : (struct store_stats){ 0 };
}
