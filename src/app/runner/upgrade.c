/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upgrades: what the old process and the new one say to each other, and the way
 * back.
 *
 * The old process goes on until the new one has built all calls: by its event
 * loop it sends a few, and as these are there the next ones. It looks again for
 * what has begun, changed or ended meanwhile, until that is nothing. From then
 * on it does nothing else until all is over: requests wait in their sockets.
 * Calls move in batches: one is paused here while the one before begins in the
 * new process, so a call's gap is that of two batches.
 */
#define _GNU_SOURCE
#include "app/runner/upgrade.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rcu.h"
#include "node/node.h"
#include "node/node_move.h"
#include "observe/log.h"
#include "observe/store.h"
#include "protocol/kept_calls.h"
#include "protocol/service.h"

/* For the new process to be ready, and to have built all calls; codec-ctl waits
 * a little longer. */
#define START_LIMIT_S 30
/* For a receiver or a worker to let go of a call, and for an answer. */
#define REST_LIMIT CR_SEC
#define ANSWER_LIMIT (3 * CR_SEC)
/* For it to be complete when it has all calls, which go on meanwhile. */
#define ALIVE_LIMIT (10 * CR_SEC)
/* The watchdog is fed so often while calls move. */
#define FEED_EACH CR_SEC
/* For a process to die that was killed. */
#define KILL_LIMIT (5 * CR_SEC)
/* Between two looks at threads that let go. */
#define LOOK_EACH (100 * CR_US)

enum {
	AHEAD = 8,	   /* slots that are sent before they are there */
	ROUNDS = 500,	   /* looks for what has changed, at most */
	BATCH = 32,	   /* units that are paused at a time */
	NODE_MOVE_FDS = 4, /* of a slot: RTP and RTCP of two ends */
	MANY = 64,	   /* numbers in a message */
	IDLE = 1,	   /* behind a slot, times as long as that took */
	TEXT = 1024
};

struct upgrade {
	struct upgrade_config cfg;
	int fd;
	struct event *said, *late;
	uint64_t *built; /* of each slot, see built_version() */
	unsigned nbuilt;
	/* The round that is under way: where it is, what it has sent, and how
	 * much of that has not been answered. */
	enum node_unit_kind kind;
	struct node_unit at;
	unsigned note; /* slot behind which notes have not been looked for */
	unsigned rounds, sent, waits;
	uint64_t texts;	      /* node_texts() when it has begun */
	char scheduler[TEXT]; /* as it was sent */
	cr_ns began;
	/* The last id whose sockets are not read any more, and the last one
	 * that is sent to the new process: no worker is in it. */
	uint32_t paused[NODE_UNIT_KINDS], given[NODE_UNIT_KINDS];
	bool shared_paused;
	unsigned moved; /* calls */
	cr_ns longest;	/* pause of a batch */
	cr_ns fed;
};

/* --- which program --- */

void upgrade_program(struct upgrade_program *p)
{
	static const char self[] = "/proc/self/exe";
	ssize_t len = readlink(self, p->path, sizeof(p->path) - 1);

	if (len < 0 || stat(self, &p->file))
		p->path[0] = '\0';
}

bool upgrade_program_replaced(const struct upgrade_program *p)
{
	struct stat now;

	return *p->path && !stat(p->path, &now) &&
	       (now.st_ino != p->file.st_ino || now.st_dev != p->file.st_dev);
}

/* --- messages --- */

/* 0 or -errno. */
static int send_words(int fd, const char *text, const int *rights, unsigned n)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(NODE_MOVE_FDS * sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(n * sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { (void *)text, strlen(text) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (n) {
		memcpy(CMSG_DATA(&control.head), rights, n * sizeof(int));
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
	}
	return sendmsg(fd, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* The next message into @text[TEXT], its descriptors into
 * @rights[NODE_MOVE_FDS]. Returns their number; -EPIPE: the other process has
 * gone; -ETIMEDOUT; or another -errno. */
static int receive_words(int fd, char *text, int *rights, cr_ns limit)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(NODE_MOVE_FDS * sizeof(int))];
	} control;
	struct iovec iov = { text, TEXT - 1 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	struct pollfd p = { .fd = fd, .events = POLLIN };
	const struct cmsghdr *c;
	ssize_t got;
	int n;

	do /* signals are for later */
		n = poll(&p, 1, limit == CR_NEVER ? -1 : (int)(limit / CR_MS));
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n ? -errno : -ETIMEDOUT;
	got = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	if (got <= 0)
		return got && errno != ECONNRESET ? -errno : -EPIPE;
	text[got] = '\0';
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_type == SCM_RIGHTS) {
		n = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(rights, CMSG_DATA(c), (size_t)n * sizeof(int));
	} else {
		n = 0;
	}
	if (!(m.msg_flags & MSG_CTRUNC))
		return n;
	while (n)
		(void)close(rights[--n]);
	return -EMFILE; /* some did not fit into this process */
}

/* 0: it has said @want. */
static int expect_words(int fd, const char *want, cr_ns limit, struct cr_err *e)
{
	int rights[NODE_MOVE_FDS], rc;
	char text[TEXT];

	rc = receive_words(fd, text, rights, limit);
	while (rc > 0)
		(void)close(rights[--rc]);
	if (rc == -EPIPE)
		return cr_fail(e, rc, "the new process has ended");
	if (rc == -ETIMEDOUT)
		return cr_fail(e, rc, "the new process does not answer");
	if (rc)
		return cr_fail(e, rc, "the hand-over: %s", strerror(-rc));
	if (!strcmp(text, want))
		return 0;
	if (!strncmp(text, "failed ", 7))
		return cr_fail(e, -ECANCELED, "%s", text + 7);
	return cr_fail(e, -EPROTO, "the new process speaks otherwise");
}

/* --- the old process --- */

static void free_upgrade(struct upgrade *u)
{
	if (u->said)
		event_free(u->said);
	if (u->late)
		event_free(u->late);
	if (u->fd >= 0)
		(void)close(u->fd);
	free(u->built);
	free(u);
}

static void wait_a_while(cr_ns time)
{
	const struct timespec t = { time / CR_SEC, time % CR_SEC };

	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

/* Until all receivers have done what @done says, and a grace period. */
static int wait_for_receivers(const struct node *n,
			      bool (*done)(const struct node *n),
			      struct cr_err *e)
{
	const cr_ns end = clock_now() + REST_LIMIT;

	while (!done(n)) {
		if (clock_now() > end)
			return cr_fail(e, -ETIMEDOUT,
				       "a receiver does not let go of a call");
		wait_a_while(LOOK_EACH);
	}
	synchronize_rcu();
	return 0;
}

static int wait_for_workers(const struct node_unit *unit, struct cr_err *e)
{
	const cr_ns end = clock_now() + REST_LIMIT;

	while (!node_unit_rests(unit)) {
		if (clock_now() > end)
			return cr_fail(e, -ETIMEDOUT,
				       "a worker does not let go of call "
				       "%" PRIu32,
				       unit->id);
		wait_a_while(LOOK_EACH);
	}
	return 0;
}

/* Send @text with @n descriptors. 0, or -errno with @e. */
static int send_text(const struct upgrade *u, const char *text,
		     const int *rights, unsigned n, struct cr_err *e)
{
	int err = send_words(u->fd, text, rights, n);

	return err ? cr_fail(e, err, "the hand-over: %s", strerror(-err)) : 0;
}

/* --- the old process: what is built ahead --- */

/* The version of @slot that the new process has; 0: none. */
static uint64_t built_version(const struct upgrade *u, unsigned slot)
{
	return slot < u->nbuilt ? u->built[slot] : 0;
}

/* Have the new process build @m, or look at it. */
static int send_slot(struct upgrade *u, const struct node_move *m,
		     struct cr_err *e)
{
	const struct node_move_end *a = &m->end[0], *b = &m->end[1];
	int rights[NODE_MOVE_FDS], err;
	char text[TEXT];
	unsigned n = 0;

	if (m->slot >= u->nbuilt) {
		unsigned more = 2 * (m->slot + 1);
		uint64_t *to = realloc(u->built, more * sizeof(*to));

		if (!to)
			return cr_fail(e, -ENOMEM, "out of memory");
		memset(&to[u->nbuilt], 0, (more - u->nbuilt) * sizeof(*to));
		u->built = to;
		u->nbuilt = more;
	}
	for (unsigned i = 0; i < 2; i++)
		for (unsigned k = 0; k < m->end[i].nfd; k++)
			rights[n++] = m->end[i].fd[k];
	(void)snprintf(text, sizeof(text), "slot %u %" PRIu64 " %s %u %s %u",
		       m->slot, m->version, a->nfd ? a->name : "-", a->nfd,
		       b->nfd ? b->name : "-", b->nfd);
	err = send_text(u, text, rights, n, e);
	u->built[m->slot] = m->version;
	u->waits++;
	return err;
}

/* A message of many numbers. */
struct numbers {
	unsigned n;
	size_t bytes;
	char text[TEXT];
};

/* @word begins it. */
static void begin_numbers(struct numbers *s, const char *word)
{
	s->n = 0;
	s->bytes = (size_t)snprintf(s->text, sizeof(s->text), "%s", word);
}

static void add_number(struct numbers *s, uint32_t number)
{
	s->n++;
	s->bytes +=
		(size_t)snprintf(s->text + s->bytes, sizeof(s->text) - s->bytes,
				 " %" PRIu32, number);
}

/* Have the new process drop the slots that @s has. */
static int send_drops(struct upgrade *u, struct numbers *s, struct cr_err *e)
{
	const bool any = s->n;
	int err = any ? send_text(u, s->text, NULL, 0, e) : 0;

	u->waits += any;
	u->sent += s->n;
	begin_numbers(s, "drop");
	return err;
}

/* The same of @slot, too. */
static int drop_built(struct upgrade *u, struct numbers *s, unsigned slot,
		      struct cr_err *e)
{
	u->built[slot] = 0;
	add_number(s, slot);
	return s->n == MANY ? send_drops(u, s, e) : 0;
}

/* Has what the new process has of @slot changed? */
static bool is_outdated(const struct upgrade *u, unsigned slot)
{
	const uint64_t is = built_version(u, slot);

	return is && is != node_slot_version(u->cfg.node, slot);
}

/* Drop what has changed or ended since it was sent. */
static int drop_outdated(struct upgrade *u, struct cr_err *e)
{
	struct numbers s;
	int err = 0;

	begin_numbers(&s, "drop");
	for (unsigned i = 0; i < u->nbuilt && !err; i++)
		if (is_outdated(u, i))
			err = drop_built(u, &s, i, e);
	return err ? err : send_drops(u, &s, e);
}

/* Send what the new process has not got of @unit. With an endpoint it has
 * dropped the call. */
static int send_unit(struct upgrade *u, const struct node_unit *unit,
		     struct cr_err *e)
{
	struct node_move m[NODE_UNIT_SLOTS];
	const unsigned n = node_unit_slots(unit, m), before = u->sent;
	int err = 0;

	for (unsigned i = 0; i < n && !err; i++) {
		if (built_version(u, m[i].slot) &&
		    !(m[i].is_call && u->sent > before))
			continue;
		err = send_slot(u, &m[i], e);
		u->sent++;
	}
	return err;
}

/* Send notes that the new process has not got, as below. */
static int send_notes(struct upgrade *u, struct cr_err *e)
{
	int err = 0;

	for (; !err && u->waits < AHEAD && node_slot_at(u->cfg.node, u->note);
	     u->note++) {
		const struct node_move m = {
			.slot = u->note,
			.version = node_slot_version(u->cfg.node, u->note),
		};

		if (!m.version || built_version(u, m.slot) ||
		    !slot_is_note(u->cfg.service, m.slot))
			continue;
		err = send_slot(u, &m, e);
		u->sent++;
	}
	return err;
}

/* Send what the new process has not got, in the order of the round, until that
 * is over, or some wait for an answer. */
static int send_ahead(struct upgrade *u, struct cr_err *e)
{
	int err = 0;

	while (!err && u->waits < AHEAD && u->kind < NODE_UNIT_KINDS)
		if (node_unit_next(u->cfg.node, u->kind, &u->at))
			err = send_unit(u, &u->at, e);
		else
			u->kind++;
	if (err || u->kind < NODE_UNIT_KINDS)
		return err;
	if (u->texts == node_texts(u->cfg.node))
		return send_notes(u, e);
	u->sent++; /* a note may be about what the next round sends */
	return 0;
}

static int begin_ahead_round(struct upgrade *u, struct cr_err *e)
{
	u->kind = 0;
	u->at = (struct node_unit){ .id = 0 };
	u->note = 0;
	u->rounds++;
	u->sent = 0;
	u->texts = node_texts(u->cfg.node);
	return drop_outdated(u, e);
}

static int send_scheduler(struct upgrade *u, struct cr_err *e)
{
	char text[TEXT], is[NODE_SPEC_MAX];

	node_scheduler(u->cfg.node, is, sizeof(is));
	(void)snprintf(text, sizeof(text), "scheduler %s\n%s", u->cfg.scheduler,
		       is);
	if (!strcmp(text, u->scheduler))
		return 0;
	memcpy(u->scheduler, text, sizeof(text));
	return send_text(u, text, NULL, 0, e);
}

/* What is still to be built, when nothing changes any more. */
static int finish_ahead(struct upgrade *u, struct cr_err *e)
{
	int err = send_scheduler(u, e);

	if (!err)
		err = begin_ahead_round(u, e);
	while (!err && !(err = send_ahead(u, e)) && u->waits) {
		err = expect_words(u->fd, "moved", ANSWER_LIMIT, e);
		u->waits--;
	}
	return err;
}

/* --- the old process: what moves --- */

/* A few units that are paused. */
struct batch {
	cr_ns began;
	unsigned units;
	struct node_unit unit[BATCH];
};

/* Pause the next units of @kind behind *@at, into @b. False: these are the
 * last.
 */
static bool pause_batch(struct upgrade *u, enum node_unit_kind kind,
			struct node_unit *at, struct batch *b)
{
	struct node *n = u->cfg.node;
	bool more = true;

	*b = (struct batch){ .began = clock_now() };
	node_gather(n);
	while (b->units < BATCH && (more = node_unit_next(n, kind, at))) {
		b->unit[b->units++] = *at;
		node_unit_pause(at);
		u->paused[kind] = at->id;
	}
	node_notify(n);
	return more;
}

/* It is at rest here: the new process may have it. */
static int give_batch(struct upgrade *u, enum node_unit_kind kind,
		      const struct batch *b, struct cr_err *e)
{
	struct numbers s;
	int err;

	if (!b->units)
		return 0;
	begin_numbers(&s, "on");
	add_number(&s, kind);
	err = wait_for_receivers(u->cfg.node, node_move_unread, e);
	for (unsigned i = 0; i < b->units && !err; i++) {
		err = wait_for_workers(&b->unit[i], e);
		add_number(&s, b->unit[i].id);
	}
	if (err)
		return err;
	u->given[kind] = b->unit[b->units - 1].id;
	return send_text(u, s.text, NULL, 0, e);
}

/* The new process goes on with it. */
static int finish_batch(struct upgrade *u, const struct batch *b,
			struct cr_err *e)
{
	int err = b->units ? expect_words(u->fd, "moved", ANSWER_LIMIT, e) : 0;

	for (unsigned i = 0; i < b->units && !err; i++)
		u->moved += b->unit[i].call != NULL;
	if (b->units)
		u->longest = cr_ns_max(u->longest, clock_now() - b->began);
	if (!err && clock_now() - u->fed > FEED_EACH) {
		(void)notify_send(u->cfg.manager, "WATCHDOG=1");
		u->fed = clock_now();
	}
	return err;
}

/* Move all units of @kind, batch by batch. */
static int move_kind(struct upgrade *u, enum node_unit_kind kind,
		     struct cr_err *e)
{
	struct batch b[2] = { { .units = 0 } }, *now = &b[0], *before = &b[1];
	struct node_unit at = { .id = 0 };
	bool more;
	int err;

	do {
		struct batch *last = before;

		more = pause_batch(u, kind, &at, now);
		err = give_batch(u, kind, now, e);
		if (!err)
			err = finish_batch(u, before, e);
		before = now;
		now = last;
	} while (more && !err);
	return err ? err : finish_batch(u, before, e);
}

/* What codecs cost: new calls need not wait until it is measured. */
static int send_costs(const struct upgrade *u, struct cr_err *e)
{
	char text[COST_TEXT];
	int err = 0;

	for (unsigned i = 0; !err && node_move_cost(u->cfg.node, i, text); i++)
		err = send_text(u, text, NULL, 0, e);
	return err;
}

/* They read nothing before the event loop goes on, here or there. */
static int pass_clients(const struct upgrade *u, struct cr_err *e)
{
	struct passing_client c = { .peer = NULL };
	char text[TEXT];
	int err = 0;

	while (!err && service_pass_client(u->cfg.service, &c)) {
		(void)snprintf(text, sizeof(text), "client %llu %s", c.number,
			       c.session);
		err = send_text(u, text, &c.fd, 1, e);
	}
	return err;
}

static int move_all(struct upgrade *u, struct cr_err *e)
{
	struct node *n = u->cfg.node;
	int err = finish_ahead(u, e);

	if (!err)
		err = move_kind(u, NODE_UNIT_ENDPOINT, e);
	if (!err)
		err = move_kind(u, NODE_UNIT_CALL, e);
	if (err)
		return err;
	node_move_pause_shared(n);
	u->shared_paused = true;
	err = wait_for_receivers(n, node_move_unread, e);
	if (!err)
		err = wait_for_receivers(n, node_move_received, e);
	if (!err)
		err = move_kind(u, NODE_UNIT_SHARED, e);
	if (!err)
		err = pass_clients(u, e);
	/* last: a part that the new process knows by then is not replaced */
	if (!err)
		err = send_costs(u, e);
	if (err)
		return err;
	err = send_text(u, "end", NULL, 0, e);
	return err ? err : expect_words(u->fd, "alive", ALIVE_LIMIT, e);
}

/* The supervisor's queue may be full. 0, or -errno after a second. */
static int tell_supervisor(const struct upgrade *u, const char *line)
{
	const cr_ns end = clock_now() + CR_SEC;
	int err;

	while ((err = notify_send(u->cfg.manager, "%s", line)) &&
	       clock_now() < end)
		wait_a_while(LOOK_EACH);
	return err;
}

/* Have the new process killed, and wait until it is dead. */
static void kill_new_process(const struct upgrade *u)
{
	const cr_ns end = clock_now() + KILL_LIMIT;
	int rights[NODE_MOVE_FDS], rc;
	char text[TEXT];

	(void)tell_supervisor(u, "UPGRADE=");
	do
		rc = receive_words(u->fd, text, rights,
				   cr_ns_max(end - clock_now(), 0));
	while (rc >= 0);
	if (rc == -EPIPE)
		return;
	/* two processes with one call are worse than none */
	log_event(LOG_ERROR, "upgrade-stuck",
		  LOG_STR("why", "the new process cannot be ended"));
	(void)log_flush(CR_SEC);
	abort();
}

/* The new process has all: from now on it is the daemon, whatever happens. */
static void announce_successor(const struct upgrade *u)
{
	if (tell_supervisor(u, "UPGRADED=1"))
		abort(); /* as after any crash, another one begins */
}

static void take_calls_back(struct upgrade *u)
{
	struct node *n = u->cfg.node;
	struct cr_err e = { "" };
	int err = 0;

	for (enum node_unit_kind k = 0; k < NODE_UNIT_KINDS; k++) {
		struct node_unit at = { .id = 0 };

		while (node_unit_next(n, k, &at) && at.id <= u->paused[k])
			err |= node_unit_back(&at, at.id <= u->given[k], &e);
	}
	if (u->shared_paused)
		err |= node_move_back_shared(n, &e);
	if (err)
		log_event(LOG_ERROR, "call-not-heard", LOG_STR("why", e.text));
}

static void end_upgrade(struct upgrade *u, int err, const struct cr_err *why)
{
	const struct upgrade_config cfg = u->cfg;
	unsigned moved = u->moved;

	if (err)
		log_event(LOG_ERROR, "upgrade-failed",
			  LOG_STR("why", why->text));
	free_upgrade(u);
	cfg.done(cfg.arg, err, why, moved);
}

/* It has not begun to move calls. */
static void abandon_upgrade(struct upgrade *u, int err,
			    const struct cr_err *why)
{
	(void)tell_supervisor(u, "UPGRADE=");
	end_upgrade(u, err, why);
}

static void move_calls(struct upgrade *u)
{
	const cr_ns began = clock_now();
	struct cr_err e = { "" };
	int err;

	u->cfg.moves(u->cfg.arg);
	node_move_begin(u->cfg.node);
	err = move_all(u, &e);
	if (err) {
		kill_new_process(u);
		take_calls_back(u);
	} else {
		announce_successor(u);
		log_event(
			LOG_INFO, "upgraded", LOG_INT("calls", u->moved),
			LOG_REAL("ahead-ms", (double)(began - u->began) / 1e6,
				 1),
			LOG_REAL("ms", (double)(clock_now() - began) / 1e6, 1),
			LOG_REAL("longest-pause-ms", (double)u->longest / 1e6,
				 1));
	}
	end_upgrade(u, err, &e);
}

/* May calls move? */
static int check_move(const struct upgrade *u, struct cr_err *e)
{
	int err = u->cfg.refuse(u->cfg.arg, e);

	return err ? err : node_may_move(u->cfg.node, e);
}

/* Go on with the round, and with the next one. *@all: the new process has built
 * all that there is. */
static int go_ahead(struct upgrade *u, bool *all, struct cr_err *e)
{
	int err = 0;

	while (!err && !*all && !(err = send_ahead(u, e)) && !u->waits) {
		*all = !u->sent || u->rounds == ROUNDS;
		if (!*all)
			err = begin_ahead_round(u, e);
	}
	return err;
}

static void on_said(evutil_socket_t fd, short what, void *arg)
{
	struct upgrade *u = arg;
	const bool ready = !u->began;
	struct cr_err e = { "" };
	bool all = false;
	int err = expect_words(u->fd, ready ? "ready" : "moved", 0, &e);

	(void)fd, (void)what;
	if (err == -EPIPE && ready)
		(void)cr_fail(&e, err,
			      "the new process has ended before it was "
			      "ready");
	if (!err && ready) {
		u->began = clock_now();
		err = check_move(u, &e);
		if (!err)
			err = send_scheduler(u, &e);
		if (!err)
			err = begin_ahead_round(u, &e);
	} else if (!err) {
		u->waits--;
	}
	if (!err)
		err = go_ahead(u, &all, &e);
	if (!err && all)
		err = check_move(u, &e);
	if (err)
		abandon_upgrade(u, err, &e);
	else if (all)
		move_calls(u);
}

static void on_start_limit(evutil_socket_t fd, short what, void *arg)
{
	struct upgrade *u = arg;
	struct cr_err e;

	(void)fd, (void)what;
	abandon_upgrade(
		u,
		cr_fail(&e, -ETIMEDOUT, "the new process %s after %d s",
			u->began ? "has not built all calls" : "is not ready",
			START_LIMIT_S),
		&e);
}

/* The supervisor is asked. */
static int ask_supervisor(struct upgrade *u, const char *program,
			  struct cr_err *e)
{
	const struct timeval limit = { .tv_sec = ANSWER_LIMIT / CR_SEC };
	const cr_ns end = clock_now() + CR_SEC;
	char more[4096 + 16];
	int pair[2], err;

	/* a line of its own would be another message */
	if (*program != '/' || strchr(program, '\n'))
		return cr_fail(e, -EINVAL, "%s: give the whole path", program);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return cr_fail(e, -errno, "a socket pair: %s", strerror(errno));
	/* a new process that hangs is given up when it is sent to, too */
	(void)setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &limit,
			 sizeof(limit));
	u->fd = pair[0];
	(void)snprintf(more, sizeof(more), "UPGRADE=%s", program);
	/* its queue may be full: of calls that came, or as it ends another
	 * process that did not take them */
	while ((err = store_offer(u->cfg.manager, UPGRADE_NAME, pair[1],
				  more)) == -EAGAIN &&
	       clock_now() < end)
		wait_a_while(LOOK_EACH);
	(void)close(pair[1]);
	if (err == -ENOTSUP)
		return cr_fail(e, err,
			       "nobody is there to start a new process: start "
			       "codec-runner with --supervise");
	return err ? cr_fail(e, err, "the supervisor: %s", strerror(-err)) : 0;
}

int upgrade_start(struct upgrade **out, const struct upgrade_config *cfg,
		  const char *program, struct cr_err *e)
{
	const struct timeval limit = { START_LIMIT_S, 0 };
	struct upgrade *u;
	int err = cfg->refuse(cfg->arg, e);

	if (!err)
		err = node_may_move(cfg->node, e);
	if (err)
		return err;
	u = calloc(1, sizeof(*u));
	if (!u)
		return cr_fail(e, -ENOMEM, "out of memory");
	u->cfg = *cfg;
	u->fd = -1;
	err = ask_supervisor(u, program, e);
	if (!err) {
		u->said = event_new(cfg->base, u->fd, EV_READ | EV_PERSIST,
				    on_said, u);
		u->late = evtimer_new(cfg->base, on_start_limit, u);
		if (!u->said || !u->late || event_add(u->said, NULL) ||
		    evtimer_add(u->late, &limit))
			err = cr_fail(e, -ENOMEM, "out of memory");
	}
	if (err) {
		free_upgrade(u);
		return err;
	}
	log_event(LOG_INFO, "upgrade", LOG_STR("program", program));
	*out = u;
	return 0;
}

/* --- the new process --- */

void upgrade_fail(int fd, const char *why)
{
	char text[TEXT];

	(void)snprintf(text, sizeof(text), "failed %s", why);
	(void)send_words(fd, text, NULL, 0);
}

/* "slot K VERSION NAME N NAME N" with @had descriptors, which are taken or
 * closed. */
static int take_slot(struct service *sv, const char *text, const int *rights,
		     unsigned had, struct cr_err *e)
{
	struct node_move m = { .slot = 0 };
	struct node_move_end *a = &m.end[0], *b = &m.end[1];
	unsigned k = 0;

	_Static_assert(NODE_HELD_NAME == 32, "the widths below");
	if (sscanf(text, "slot %u %" SCNu64 " %31s %u %31s %u", &m.slot,
		   &m.version, a->name, &a->nfd, b->name, &b->nfd) != 6 ||
	    a->nfd > 2 || b->nfd > 2 || a->nfd + b->nfd != had) {
		while (had)
			(void)close(rights[--had]);
		return cr_fail(e, -EPROTO, "the old process speaks otherwise");
	}
	for (unsigned i = 0; i < 2; i++)
		for (unsigned j = 0; j < m.end[i].nfd; j++)
			m.end[i].fd[j] = rights[k++];
	node_move_pass(service_node(sv), &m);
	return restore_slot(sv, m.slot, m.version, e);
}

/* The same, and leave the CPU to the calls, which run in the other process. */
static int build_slot(struct service *sv, const char *text, const int *rights,
		      unsigned had, struct cr_err *e)
{
	const cr_ns began = clock_now();
	int err = take_slot(sv, text, rights, had, e);

	wait_a_while(IDLE * (clock_now() - began));
	return err;
}

/* @text: "scheduler CONFIGURED\nCHOSEN", of the old process. @mine: as the
 * options say now. */
static void take_scheduler(struct node *n, char *text, const char *mine)
{
	const char *theirs = text + strlen("scheduler ");
	char *chosen = strchr(text, '\n'), is[NODE_SPEC_MAX];
	struct cr_err e = { "" };

	if (!chosen)
		return;
	*chosen++ = '\0';
	node_scheduler(n, is, sizeof(is));
	if (strcmp(theirs, mine) || !strcmp(chosen, is))
		return;
	if (node_scheduler_set(n, chosen, &e))
		log_event(LOG_WARN, "scheduler-not-kept",
			  LOG_WORD("scheduler", chosen),
			  LOG_STR("why", e.text));
}

static bool is_client(const char *text)
{
	return !strncmp(text, "client ", 7);
}

/* @text: "client NUMBER SESSION", of the connection @fd. */
static void take_client(struct service *sv, const char *text, int fd)
{
	struct passing_client c = { .fd = fd };

	if (sscanf(text, "client %llu %16s", &c.number, c.session) == 2)
		service_take_client(sv, &c);
	else
		(void)close(fd);
}

/* @text: "on KIND ID ID ...". */
static int take_on(struct node *n, char *text, struct cr_err *e)
{
	char *end = text + strlen("on");
	const unsigned long kind = strtoul(end, &end, 10);
	int err = 0;

	node_gather(n);
	while (*end && !err) {
		unsigned long id = strtoul(end, &end, 10);

		err = node_move_go_on(n, (enum node_unit_kind)kind,
				      (uint32_t)id, e);
	}
	node_notify(n);
	return err;
}

/* @text: "drop SLOT SLOT ...". */
static void take_drops(struct service *sv, char *text)
{
	char *end = text + strlen("drop");

	while (*end)
		drop_slot(sv, (unsigned)strtoul(end, &end, 10));
	node_move_dropped(service_node(sv));
}

/* Until the old process has said "end". */
static int take_slots(int fd, struct service *sv, const char *scheduler,
		      struct cr_err *e)
{
	char text[TEXT];
	int rights[NODE_MOVE_FDS], rc;

	for (;;) {
		rc = receive_words(fd, text, rights, CR_NEVER);
		if (rc == -EMFILE && is_client(text))
			continue; /* it is disconnected, and comes back */
		if (rc == -EMFILE)
			return cr_fail(e, rc,
				       "too few file descriptors: raise the "
				       "limit (LimitNOFILE=, ulimit -n)");
		if (rc < 0)
			return cr_fail(e, rc, "the old process has ended");
		if (!strcmp(text, "end"))
			return 0;
		if (rc == 1 && is_client(text)) {
			take_client(sv, text, rights[0]);
			continue;
		}
		if (!rc && !strncmp(text, "cost ", 5)) {
			/* one that it cannot use is measured */
			(void)node_move_take_cost(service_node(sv), text);
			continue;
		}
		if (!rc && !strncmp(text, "scheduler ", 10)) {
			take_scheduler(service_node(sv), text, scheduler);
			continue;
		}
		if (!rc && !strncmp(text, "on ", 3))
			rc = take_on(service_node(sv), text, e);
		else if (!rc && !strncmp(text, "drop ", 5))
			take_drops(sv, text);
		else
			rc = build_slot(sv, text, rights, (unsigned)rc, e);
		if (!rc)
			rc = send_words(fd, "moved", NULL, 0);
		if (rc)
			return rc;
	}
}

int upgrade_arrive(int fd, struct service *sv, const char *scheduler,
		   struct cr_err *e)
{
	int err;

	err = send_words(fd, "ready", NULL, 0);
	if (!err)
		err = take_slots(fd, sv, scheduler, e);
	return err && !*e->text ? cr_fail(e, err, "the old process has ended")
				: err;
}

int upgrade_arrived(int fd, struct cr_err *e)
{
	int err = send_words(fd, "alive", NULL, 0);

	if (err)
		return cr_fail(e, err, "the old process has ended");
	/* that takes the end of @fd for ours: it closes it first */
	err = expect_words(fd, "", CR_NEVER, e);
	return err == -EPIPE ? 0 : err;
}
