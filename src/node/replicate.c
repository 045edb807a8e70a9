/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that copies calls to a store, and reads those of another node.
 *
 *   connect: TIME, SET run, HKEYS    its clock; what it has of us
 *   round:   WATCH run taken-over-by, TIME, EXISTS alive (other),
 *            GET run taken-over-by
 *            MULTI, EXISTS calls, HSET, HDEL, EXPIRE, SET run alive, EXEC
 *   take:    GET run, EXISTS alive, SET taken-over-by NX, GET taken-over-by,
 *            HKEYS, HMGET
 *
 * A round is made when something has changed, each BEAT, and before a take.
 * What fails closes the connection; a later one begins with all that the store
 * may have. Its SET breaks a transaction that is still on its way from a
 * connection before it, maybe of a process that has died.
 */
#define _GNU_SOURCE
#include "node/replicate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hiredis/hiredis.h>

#include "base/clock.h"
#include "base/thread.h"
#include "node/replica_books.h"
#include "node/replica_store.h"
#include "observe/log.h"

#define BEAT (500 * CR_MS)
#define ALIVE "2000" /* ms */
/* The store answers a batch within this time, or is given up. */
#define STORE_LIMIT CR_SEC
#define RETRY_MIN (100 * CR_MS)
#define RETRY_MAX (5 * CR_SEC)
/* Another node has found the store again, too, this long after ours has. */
#define ALL_BACK (RETRY_MAX + 2 * CR_SEC)
/* Longest wait of replicate_close() for the last round; of replicate_pause()
 * for a round in progress. */
#define END_LIMIT (500 * CR_MS)
#define PAUSE_LIMIT (100 * CR_MS)

enum { RUN_TEXT = 20, KEY_TEXT = REPLICA_TEXT_MAX + 64, TAKE_AT_ONCE = 64 };
/* s: a run that is not heard of for so long has gone, with its calls */
#define KEPT "3600"
/* s; runs are random numbers, of which none comes again */
#define TAKEN_LIMIT "604800"

struct replicate {
	struct replicate_config cfg;
	struct replica_url url;
	char other[REPLICA_TEXT_MAX];
	pthread_t thread;
	atomic_bool stop; /* release, pairs with check_stop() of the store */

	/* the thread's */
	char run[RUN_TEXT];
	struct replica_store *store; /* NULL: not connected */
	cr_ns connected, answer_by;  /* since when; it is given up then */
	struct replica_books *books;
	cr_ns shift; /* from this node's time to the store's */
	cr_ns beat_at, retry;
	struct replicate_stats stats;

	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t wake;
	bool ending, paused, wants_take;
	bool busy;		     /* the thread is */
	struct replicate_stats seen; /* stats after the last round */
	struct replica *got;
	struct replica *forget; /* is to be deleted in the store */
	struct cr_err why;

	/* control's */
	unsigned long long calls_restored, calls_dropped;
	struct replica_asker asker; /* done NULL: nobody has asked */
	struct event *answer;
};

/* --- the store --- */

static void free_replica(struct replica *p)
{
	for (unsigned i = 0; p && i < p->n; i++) {
		free((void *)p->call[i].text);
		free((void *)p->call[i].records);
	}
	if (p)
		free(p->call);
	free(p);
}

/* A key of @node, or of its @run (NULL: none). */
static const char *key_of(char buf[KEY_TEXT], const char *node, const char *run,
			  const char *what)
{
	(void)snprintf(buf, KEY_TEXT, "codec-runner:%s%s%s:%s", node,
		       run ? ":" : "", run ? run : "", what);
	return buf;
}

static int want_reply(struct replicate *r, int type, redisReply **out,
		      struct cr_err *e)
{
	return replica_store_reply(r->store, type, r->answer_by, out, e);
}

/* TIME: what its clock has more than ours. */
static int read_clock(struct replicate *r, struct cr_err *e)
{
	long long seconds = INT64_MAX;
	redisReply *t;
	int err = want_reply(r, REDIS_REPLY_ARRAY, &t, e);

	if (err)
		return err;
	if (t->type == REDIS_REPLY_ARRAY && t->elements == 2 &&
	    t->element[0]->str && t->element[1]->str &&
	    t->element[0]->len <= 10 && t->element[1]->len <= 6)
		seconds = strtoll(t->element[0]->str, NULL, 10);
	if (seconds < INT64_MAX / CR_SEC)
		r->shift = seconds * CR_SEC +
			   strtoll(t->element[1]->str, NULL, 10) * CR_US -
			   clock_now();
	else
		err = cr_fail(e, -EPROTO, "the store has no clock");
	freeReplyObject(t);
	return err;
}

/* HKEYS of our calls: what the store has. */
static int read_found(struct replicate *r, struct cr_err *e)
{
	redisReply *keys;
	int err = want_reply(r, REDIS_REPLY_ARRAY, &keys, e);

	replica_books_clear(r->books);
	for (size_t i = 0; !err && i < keys->elements; i++) {
		const redisReply *k = keys->element[i];

		if (k->type == REDIS_REPLY_STRING && k->len < 6)
			(void)replica_books_found(
				r->books, (unsigned)strtoul(k->str, NULL, 10));
	}
	freeReplyObject(keys);
	return err;
}

static void drop_store(struct replicate *r)
{
	replica_store_close(r->store);
	r->store = NULL;
}

static int connect_store(struct replicate *r, struct cr_err *e)
{
	char run[KEY_TEXT], calls[KEY_TEXT];
	int err;

	(void)snprintf(r->run, sizeof(r->run), "%016" PRIx64,
		       state_memory_run(r->cfg.state));
	err = replica_store_open(&r->store, &r->url, STORE_LIMIT, &r->stop, e);
	if (err)
		return err;
	r->connected = clock_now();
	r->answer_by = r->connected + STORE_LIMIT;
	replica_queue(r->store, "TIME");
	replica_queue(r->store, "SET", key_of(run, r->url.name, NULL, "run"),
		      r->run, "EX", KEPT);
	replica_queue(r->store, "HKEYS",
		      key_of(calls, r->url.name, r->run, "calls"));
	err = read_clock(r, e);
	if (!err)
		err = want_reply(r, REDIS_REPLY_STATUS, NULL, e);
	if (!err)
		err = read_found(r, e);
	/* the memory may have gone while a name was looked up */
	if (!err && atomic_load_explicit(&r->stop, memory_order_acquire))
		err = cr_fail(e, -EINTR, "it is to stop");
	return err;
}

/* GET run: it is what our connection has set. */
static int read_run(struct replicate *r, struct cr_err *e)
{
	redisReply *run;
	int err = want_reply(r, REDIS_REPLY_STRING, &run, e);

	if (!err && run->type == REDIS_REPLY_NIL)
		err = cr_fail(e, -ENODATA, "the store has lost our calls");
	else if (!err && strcmp(run->str, r->run) != 0)
		err = cr_fail(e, -EEXIST, "another node has this name");
	freeReplyObject(run);
	return err;
}

/* GET taken-over-by. */
static int read_mark(struct replicate *r, struct cr_err *e)
{
	redisReply *mark;
	int err = want_reply(r, REDIS_REPLY_STRING, &mark, e);

	if (!err && mark->type == REDIS_REPLY_STRING) {
		state_memory_taken_over(r->cfg.state);
		(void)state_memory_new_run(r->cfg.state);
		/* who has no calls loses none: the other one has begun */
		log_event(r->books->calls ? LOG_ERROR : LOG_INFO,
			  "replica-taken-over", LOG_STR("by", mark->str),
			  LOG_INT("calls", r->books->calls),
			  LOG_STR("why",
				  "that node has taken over the calls that "
				  "this one has: nothing more is "
				  "copied of them"));
		err = -EALREADY;
	}
	freeReplyObject(mark);
	return err;
}

/* EXISTS alive, of the other node. After an outage of the store it may be
 * missing for a while. */
static int read_other(struct replicate *r, struct cr_err *e)
{
	redisReply *alive;
	int err = want_reply(r, REDIS_REPLY_INTEGER, &alive, e);

	if (err)
		return err;
	if (alive->integer && r->stats.silent) {
		log_event(LOG_INFO, "node-alive", LOG_STR("node", r->other));
		r->stats.silent = false;
	} else if (!alive->integer && !r->stats.silent &&
		   clock_now() - r->connected > ALL_BACK) {
		log_event(LOG_WARN, "node-silent", LOG_STR("node", r->other));
		r->stats.silent = true;
	}
	freeReplyObject(alive);
	return 0;
}

/* May we write, and what time is it there? 0; -EALREADY: we have a new run; or
 * another -errno with @e. */
static int begin_round(struct replicate *r, struct cr_err *e)
{
	char run[KEY_TEXT], mark[KEY_TEXT], other[KEY_TEXT];
	int err;

	r->answer_by = clock_now() + STORE_LIMIT;
	(void)key_of(mark, r->url.name, r->run, "taken-over-by");
	replica_queue(r->store, "WATCH", key_of(run, r->url.name, NULL, "run"),
		      mark);
	replica_queue(r->store, "TIME");
	if (*r->other)
		replica_queue(r->store, "EXISTS",
			      key_of(other, r->other, NULL, "alive"));
	replica_queue(r->store, "GET", run);
	replica_queue(r->store, "GET", mark);
	err = want_reply(r, REDIS_REPLY_STATUS, NULL, e);
	if (!err)
		err = read_clock(r, e);
	if (!err && *r->other)
		err = read_other(r, e);
	if (!err)
		err = read_run(r, e);
	return err ? err : read_mark(r, e);
}

/* Queue @c, unless it has a key only. Returns the number of commands. */
static int queue_fields(struct replicate *r, struct replica_command *c)
{
	/* also one that had no memory, which fails */
	if (c->n > 2 || c->n > c->room) {
		replica_store_queue(r->store, c);
		return 1;
	}
	replica_command_drop(c);
	return 0;
}

/* Queue what a batch changes in @hash: "calls" or "records". Returns the
 * number of commands. */
static int queue_changes(struct replicate *r, const struct replica_batch *b,
			 const char *hash)
{
	struct replica_command c[2] = { { 0 } }; /* HSET, HDEL */
	const bool calls = !strcmp(hash, "calls");
	char key[KEY_TEXT];

	(void)key_of(key, r->url.name, r->run, hash);
	for (unsigned gone = 0; gone < 2; gone++) {
		replica_word(&c[gone], gone ? "HDEL" : "HSET");
		replica_word(&c[gone], key);
	}
	for (unsigned i = 0; i < b->n; i++) {
		const struct replica_change *change = &b->change[i];

		if (!change->is.text) {
			replica_word(&c[1], change->number);
		} else if (!calls || change->text) {
			replica_word(&c[0], change->number);
			replica_word(&c[0],
				     calls ? change->text : change->records);
		}
	}
	return queue_fields(r, &c[0]) + queue_fields(r, &c[1]);
}

/* Queue the deletion of what was restored of @hash of @p. Returns the number of
 * commands. */
static int queue_restored(struct replicate *r, const struct replica *p,
			  const char *hash)
{
	struct replica_command c = { 0 };
	char key[KEY_TEXT];

	replica_word(&c, "HDEL");
	replica_word(&c, key_of(key, p->node, p->run, hash));
	for (unsigned i = 0; i < p->n; i++)
		if (p->call[i].restored)
			replica_word(&c, p->call[i].number);
	return queue_fields(r, &c);
}

/* Queue all commands of a batch; what was restored of @forget is deleted.
 * Returns the number of commands. */
static int queue_batch(struct replicate *r, const struct replica_batch *b,
		       const struct replica *forget)
{
	struct replica_store *s = r->store;
	const char *node = r->url.name;
	char calls[KEY_TEXT], records[KEY_TEXT], run[KEY_TEXT], alive[KEY_TEXT];
	int n = 5;

	replica_queue(s, "EXISTS", key_of(calls, node, r->run, "calls"));
	n += queue_changes(r, b, "calls");
	n += queue_changes(r, b, "records");
	replica_queue(s, "EXPIRE", calls, KEPT);
	replica_queue(s, "EXPIRE", key_of(records, node, r->run, "records"),
		      KEPT);
	replica_queue(s, "SET", key_of(run, node, NULL, "run"), r->run, "EX",
		      KEPT);
	replica_queue(s, "SET", key_of(alive, node, NULL, "alive"), r->run,
		      "PX", ALIVE);
	if (forget)
		n += queue_restored(r, forget, "calls") +
		     queue_restored(r, forget, "records");
	return n;
}

/* EXEC: the answers of @n commands, of which the first says whether the store
 * has our calls. */
static int read_done(struct replicate *r, int n, struct cr_err *e)
{
	redisReply *all;
	int err = want_reply(r, REDIS_REPLY_ARRAY, &all, e);

	if (err)
		return err;
	if (all->type == REDIS_REPLY_NIL)
		err = cr_fail(e, -EAGAIN, "another process has come between");
	else if (all->elements != (size_t)n)
		err = cr_fail(e, -EPROTO, "the store answers nonsense");
	for (size_t i = 0; !err && i < all->elements; i++)
		if (all->element[i]->type == REDIS_REPLY_ERROR)
			err = cr_fail(e, -EPROTO, "the store says: %.200s",
				      all->element[i]->str);
	if (!err && r->books->calls && !all->element[0]->integer)
		err = cr_fail(e, -ENODATA, "the store has lost our calls");
	freeReplyObject(all);
	return err;
}

static int write_batch(struct replicate *r, const struct replica_batch *b,
		       const struct replica *forget, struct cr_err *e)
{
	int n, err = begin_round(r, e);

	if (err)
		return err;
	replica_queue(r->store, "MULTI");
	n = queue_batch(r, b, forget);
	replica_queue(r->store, "EXEC");
	for (int i = 0; i < n + 1 && !err; i++) /* MULTI's, and QUEUED */
		err = want_reply(r, REDIS_REPLY_STATUS, NULL, e);
	return err ? err : read_done(r, n, e);
}

/* Calls that were restored are deleted where they come from, when the store has
 * them as ours. */
static int write_round(struct replicate *r, struct cr_err *e)
{
	struct replica_batch *b = malloc(sizeof(*b));
	struct replica *forget;
	bool all = false;
	int err = 0;

	if (!b)
		return cr_fail(e, -ENOMEM, "out of memory");
	(void)pthread_mutex_lock(&r->lock);
	forget = r->forget;
	(void)pthread_mutex_unlock(&r->lock);
	while (!all && !err) {
		all = replica_batch_next(r->books, r->cfg.state, r->shift, b);
		if (!b->n && !forget && clock_now() - r->beat_at < BEAT)
			break;
		err = write_batch(r, b, all ? forget : NULL, e);
		if (!err) {
			replica_batch_done(r->books, b);
			r->beat_at = clock_now();
			r->stats.batches++;
		}
		replica_batch_free(b);
	}
	free(b);
	if (!err && forget) {
		(void)pthread_mutex_lock(&r->lock);
		r->forget = NULL;
		(void)pthread_mutex_unlock(&r->lock);
		free_replica(forget);
	}
	return err;
}

/* --- rounds --- */

static void show_stats(struct replicate *r)
{
	(void)pthread_mutex_lock(&r->lock);
	r->seen = r->stats;
	(void)pthread_mutex_unlock(&r->lock);
}

static void note_up(struct replicate *r)
{
	struct replicate_stats *s = &r->stats;

	if (!s->up)
		log_event(LOG_INFO, "replica-up", LOG_STR("store", r->url.host),
			  LOG_INT("port", r->url.port));
	s->up = true;
	s->calls = r->books->calls;
	s->taken_over = r->books->ntaken_over;
	s->why[0] = '\0';
	r->retry = 0;
	show_stats(r);
}

/* Each outage is logged once, and each new reason of it; a pause is none. */
static void note_down(struct replicate *r, const struct cr_err *why)
{
	struct replicate_stats *s = &r->stats;

	drop_store(r);
	if (atomic_load_explicit(&r->stop, memory_order_acquire))
		return;
	r->retry = r->retry ? cr_ns_min(2 * r->retry, RETRY_MAX) : RETRY_MIN;
	if (s->up || strcmp(s->why, why->text) != 0)
		log_event(LOG_ERROR, "replica-down",
			  LOG_STR("store", r->url.host),
			  LOG_INT("port", r->url.port),
			  LOG_STR("why", why->text));
	s->up = false;
	s->failures++;
	(void)snprintf(s->why, sizeof(s->why), "%.199s", why->text);
	show_stats(r);
}

/* 0; or -errno with @e. */
static int round_once(struct replicate *r, struct cr_err *e)
{
	int err;

	do {
		err = r->store ? 0 : connect_store(r, e);
		if (!err)
			err = write_round(r, e);
		if (err == -EALREADY) /* in another run */
			drop_store(r);
	} while (err == -EALREADY);
	if (err)
		note_down(r, e);
	else
		note_up(r);
	return err;
}

/* --- the calls of another node --- */

/* A text, or NULL. */
static char *text_of_reply(const redisReply *r)
{
	return r->type == REDIS_REPLY_STRING && r->len <= STATE_TEXT_MAX
		       ? strdup(r->str)
		       : NULL;
}

/* HMGET of the slots @keys[@n], of @hash. */
static void ask_some(struct replicate *r, const struct replica *p,
		     const char *hash, redisReply *const *keys, size_t n)
{
	struct replica_command c = { 0 };
	char key[KEY_TEXT];

	replica_word(&c, "HMGET");
	replica_word(&c, key_of(key, p->node, p->run, hash));
	for (size_t i = 0; i < n; i++)
		replica_word(&c, keys[i]->str ? keys[i]->str : "");
	replica_store_queue(r->store, &c);
}

static int read_some(struct replicate *r, struct replica *p,
		     redisReply *const *keys, size_t n, struct cr_err *e)
{
	redisReply *text = NULL, *records = NULL;
	int err;

	r->answer_by = clock_now() + STORE_LIMIT;
	ask_some(r, p, "calls", keys, n);
	ask_some(r, p, "records", keys, n);
	err = want_reply(r, REDIS_REPLY_ARRAY, &text, e);
	if (!err)
		err = want_reply(r, REDIS_REPLY_ARRAY, &records, e);
	if (!err && (text->elements != n || records->elements != n))
		err = cr_fail(e, -EPROTO, "the store answers nonsense");
	for (size_t i = 0; i < n && !err; i++) {
		struct replica_call *c = &p->call[p->n++];

		c->text = text_of_reply(text->element[i]);
		c->records = text_of_reply(records->element[i]);
		(void)snprintf(c->number, sizeof(c->number), "%.7s",
			       keys[i]->str ? keys[i]->str : "");
	}
	freeReplyObject(text);
	freeReplyObject(records);
	return err;
}

/* Mark the last run of @p->node as taken over, unless another node has. 0;
 * -ENOENT, -EBUSY: there is nothing to take; or another -errno, with @e. */
static int mark_taken_over(struct replicate *r, struct replica *p,
			   struct cr_err *e)
{
	char run[KEY_TEXT], alive[KEY_TEXT], mark[KEY_TEXT];
	redisReply *is = NULL, *lives = NULL, *by = NULL;
	int err;

	replica_queue(r->store, "GET", key_of(run, p->node, NULL, "run"));
	replica_queue(r->store, "EXISTS",
		      key_of(alive, p->node, NULL, "alive"));
	err = want_reply(r, REDIS_REPLY_STRING, &is, e);
	if (!err)
		err = want_reply(r, REDIS_REPLY_INTEGER, &lives, e);
	if (!err && is->type != REDIS_REPLY_STRING)
		err = cr_fail(e, -ENOENT,
			      "the store knows nothing of a node %s", p->node);
	if (!err) {
		p->alive = lives->integer != 0;
		(void)snprintf(p->run, sizeof(p->run), "%.19s", is->str);
		(void)key_of(mark, p->node, p->run, "taken-over-by");
		replica_queue(r->store, "SET", mark, r->url.name, "EX",
			      TAKEN_LIMIT, "NX");
		replica_queue(r->store, "GET", mark);
		err = want_reply(r, REDIS_REPLY_STATUS, NULL, e);
	}
	if (!err)
		err = want_reply(r, REDIS_REPLY_STRING, &by, e);
	if (!err && (!by->str || strcmp(by->str, r->url.name) != 0))
		err = cr_fail(e, -EBUSY,
			      "node %.200s has taken over the calls of "
			      "node %s already",
			      by->str ? by->str : "", p->node);
	freeReplyObject(is);
	freeReplyObject(lives);
	freeReplyObject(by);
	return err;
}

static int take_replica(struct replicate *r, struct replica *p,
			struct cr_err *e)
{
	redisReply *keys = NULL;
	char key[KEY_TEXT];
	int err;

	r->answer_by = clock_now() + STORE_LIMIT;
	p->shift = -r->shift;
	err = mark_taken_over(r, p, e);
	if (err)
		return err;
	replica_queue(r->store, "HKEYS", key_of(key, p->node, p->run, "calls"));
	err = want_reply(r, REDIS_REPLY_ARRAY, &keys, e);
	if (!err && keys->elements > STATE_SLOTS)
		err = cr_fail(e, -EPROTO, "the store has too many calls");
	if (!err) {
		p->call = calloc(keys->elements + 1, sizeof(*p->call));
		if (!p->call)
			err = cr_fail(e, -ENOMEM, "out of memory");
	}
	for (size_t at = 0; !err && at < keys->elements; at += TAKE_AT_ONCE)
		err = read_some(r, p, keys->element + at,
				keys->elements - at < TAKE_AT_ONCE
					? keys->elements - at
					: TAKE_AT_ONCE,
				e);
	freeReplyObject(keys);
	return err;
}

/* After a round, which may have failed as @err and @e say. What a pause breaks
 * is done after it: what is marked as ours can be taken again. */
static void take_once(struct replicate *r, int err, struct cr_err *e)
{
	struct replica *p = calloc(1, sizeof(*p));

	if (!p)
		err = cr_fail(e, -ENOMEM, "out of memory");
	if (!err) {
		memcpy(p->node, r->other, sizeof(p->node));
		err = take_replica(r, p, e);
		if (err && err != -ENOENT && err != -EBUSY)
			note_down(r, e);
	}
	if (err) {
		free_replica(p);
		p = NULL;
	}
	/* acquire, pairs with replicate_pause() and replicate_close() */
	if (atomic_load_explicit(&r->stop, memory_order_acquire)) {
		free_replica(p);
		return;
	}
	(void)pthread_mutex_lock(&r->lock);
	r->wants_take = false;
	r->got = p;
	r->why = *e;
	(void)pthread_mutex_unlock(&r->lock);
	event_active(r->answer, EV_READ, 0);
}

/* --- the thread --- */

static bool wait_woken(struct replicate *r, cr_ns until)
{
	const struct timespec at = { until / CR_SEC, until % CR_SEC };

	return pthread_cond_timedwait(&r->wake, &r->lock, &at) != ETIMEDOUT;
}

/* Until there is something to do. Returns whether to go on. */
static bool wait_for_work(struct replicate *r, cr_ns until, bool *take)
{
	bool goes_on;

	(void)pthread_mutex_lock(&r->lock);
	r->busy = false;
	(void)pthread_cond_broadcast(&r->wake);
	while (!r->ending &&
	       (r->paused ? !pthread_cond_wait(&r->wake, &r->lock)
			  : !r->wants_take && wait_woken(r, until)))
		;
	goes_on = !r->ending;
	*take = r->wants_take;
	r->busy = true;
	(void)pthread_mutex_unlock(&r->lock);
	return goes_on;
}

static void *run_replicate(void *arg)
{
	struct replicate *r = arg;
	cr_ns next = clock_now();
	bool take;

	(void)pthread_setname_np(pthread_self(), "cr-replica");
	while (wait_for_work(r, next, &take)) {
		struct cr_err e = { "" };
		int err = round_once(r, &e);

		if (take)
			take_once(r, err, &e);
		next = clock_now() + (r->retry ? r->retry : r->cfg.interval);
	}
	if (r->store)
		(void)round_once(r, &(struct cr_err){ "" });
	drop_store(r);
	return NULL;
}

static void on_answer(evutil_socket_t fd, short what, void *arg)
{
	struct replicate *r = arg;
	const struct replica_asker asker = r->asker;
	struct replica *got;
	struct cr_err why;

	(void)fd, (void)what;
	(void)pthread_mutex_lock(&r->lock);
	got = r->got;
	why = r->why;
	r->got = NULL;
	(void)pthread_mutex_unlock(&r->lock);
	r->asker = (struct replica_asker){ 0 };
	if (asker.done)
		asker.done(asker.arg, got, &why);
	if (!got)
		return;
	/* what was restored before has been deleted by the round before it */
	(void)pthread_mutex_lock(&r->lock);
	r->forget = got;
	(void)pthread_mutex_unlock(&r->lock);
}

int replicate_take(struct replicate *r, const char *node,
		   const struct replica_asker *asker, struct cr_err *e)
{
	if (!*r->other)
		return cr_fail(e, -EINVAL,
			       "this node was started without --standby-of");
	if (node && strcmp(node, r->other) != 0)
		return cr_fail(e, -EINVAL, "node: this one is --standby-of %s",
			       r->other);
	if (r->asker.done)
		return cr_fail(e, -EBUSY, "a takeover is at work");
	r->asker = *asker;
	(void)pthread_mutex_lock(&r->lock);
	r->wants_take = true;
	(void)pthread_cond_broadcast(&r->wake);
	(void)pthread_mutex_unlock(&r->lock);
	return 0;
}

void replicate_pause(struct replicate *r)
{
	const cr_ns limit = clock_now() + PAUSE_LIMIT;

	if (!r)
		return;
	(void)pthread_mutex_lock(&r->lock);
	r->paused = true;
	/* what it does after that, as it looks up a name, is of no effect */
	atomic_store_explicit(&r->stop, true, memory_order_release);
	while (r->busy && wait_woken(r, limit))
		;
	(void)pthread_mutex_unlock(&r->lock);
}

void replicate_resume(struct replicate *r)
{
	if (!r)
		return;
	(void)pthread_mutex_lock(&r->lock);
	r->paused = false;
	atomic_store_explicit(&r->stop, false, memory_order_release);
	(void)pthread_cond_broadcast(&r->wake);
	(void)pthread_mutex_unlock(&r->lock);
}

void replicate_stats(struct replicate *r, struct replicate_stats *out)
{
	(void)pthread_mutex_lock(&r->lock);
	*out = r->seen;
	(void)pthread_mutex_unlock(&r->lock);
	out->calls_restored = r->calls_restored;
	out->calls_dropped = r->calls_dropped;
}

void replicate_count(struct replicate *r, unsigned restored, unsigned dropped)
{
	r->calls_restored += restored;
	r->calls_dropped += dropped;
}

static void free_replicate(struct replicate *r)
{
	if (r->answer)
		event_free(r->answer);
	free_replica(r->got);
	free_replica(r->forget);
	free(r->books);
	(void)pthread_cond_destroy(&r->wake);
	(void)pthread_mutex_destroy(&r->lock);
	free(r);
}

int replicate_open(struct replicate **out, const struct replicate_config *cfg,
		   struct cr_err *e)
{
	struct replicate *r = calloc(1, sizeof(*r));
	pthread_condattr_t attr;
	int err;

	if (!r)
		return cr_fail(e, -ENOMEM, "out of memory");
	r->cfg = *cfg;
	(void)pthread_mutex_init(&r->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&r->wake, &attr);
	(void)pthread_condattr_destroy(&attr);
	r->books = calloc(1, sizeof(*r->books));
	if (r->books)
		r->books->text_of = cfg->text_of;
	r->answer = event_new(cfg->base, -1, 0, on_answer, r);
	r->paused = cfg->paused;
	err = replica_url_parse(&r->url, cfg->url, e);
	if (!err && !*r->url.name)
		(void)snprintf(r->url.name, sizeof(r->url.name), "%s",
			       cfg->node);
	if (cfg->other)
		(void)snprintf(r->other, sizeof(r->other), "%s", cfg->other);
	if (!err && !strcmp(r->other, r->url.name))
		err = cr_fail(e, -EINVAL,
			      "--standby-of: %s is this node itself in the "
			      "store of --replicate: name another one",
			      r->other);
	if (!err && (!r->books || !r->answer))
		err = cr_fail(e, -ENOMEM, "out of memory");
	if (!err) {
		err = thread_create(&r->thread, NULL, run_replicate, r);
		if (err)
			(void)thread_fail(e, err, "--replicate");
	}
	if (err) {
		free_replicate(r);
		return err;
	}
	*out = r;
	return 0;
}

/* Wait for the thread's end until @limit is over. */
static bool join_within(struct replicate *r, cr_ns limit)
{
	cr_ns end = clock_read(CLOCK_REALTIME) + limit;
	const struct timespec at = { end / CR_SEC, end % CR_SEC };

	return pthread_timedjoin_np(r->thread, NULL, &at) == 0;
}

void replicate_close(struct replicate *r)
{
	if (!r)
		return;
	(void)pthread_mutex_lock(&r->lock);
	r->ending = true;
	(void)pthread_cond_broadcast(&r->wake);
	(void)pthread_mutex_unlock(&r->lock);
	if (!join_within(r, END_LIMIT)) {
		atomic_store_explicit(&r->stop, true, memory_order_release);
		if (!join_within(r, END_LIMIT)) {
			/* it looks up a name, and will touch only @r then */
			(void)pthread_detach(r->thread);
			return;
		}
	}
	free_replicate(r);
}
