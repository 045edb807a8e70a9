/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conversions of a node; those of an owner are in a list, as a node has few
 * at a time (--max-conversions).
 *
 * A conversion that is asked for goes to the I/O thread and back
 * (CONVERSION_LOOKED) before it is one. The end of a running conversion crosses
 * three threads: the I/O thread lets go (CONVERSION_LET_GO), control takes the
 * task out of the engine, the worker that has it lets go (CONVERSION_LEFT),
 * control ends it.
 */
#include "convert/converter.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "convert/conversion.h"

/* Of one that runs: its input and its output. */
enum { FILES = 2 };

RB_HEAD(conversion_tree, conversion);

struct converter {
	struct converter_config cfg;
	struct spool spool;
	struct conversion_io *io;
	struct event *wake;
	struct conversion_tree all;
	struct conversion_list waiting, kept;
	struct conversion_list
		owned; /**< not over; also those that are asked */
	unsigned nkept;
	struct converter_counts count;
	bool closed;

	/* between threads; under lock */
	pthread_mutex_t lock;
	struct conversion_list news;
};

static int conversion_cmp(struct conversion *a, struct conversion *b)
{
	return (a->cfg.id > b->cfg.id) - (a->cfg.id < b->cfg.id);
}

RB_PROTOTYPE(conversion_tree, conversion, by_id, conversion_cmp)
RB_GENERATE(conversion_tree, conversion, by_id, conversion_cmp)

/* --- between threads --- */

static void push_conversion(struct conversion *cv, enum conversion_news news)
{
	struct converter *con = cv->set;

	(void)pthread_mutex_lock(&con->lock);
	cv->news = news;
	TAILQ_INSERT_TAIL(&con->news, cv, link);
	(void)pthread_mutex_unlock(&con->lock);
	event_active(con->wake, EV_READ, 0);
}

static void on_looked(void *arg, struct conversion *cv)
{
	(void)arg;
	push_conversion(cv, CONVERSION_LOOKED);
}

static void on_over(void *arg, struct conversion *cv)
{
	(void)arg;
	push_conversion(cv, CONVERSION_LET_GO);
}

void converter_gone(struct conversion *cv)
{
	push_conversion(cv, CONVERSION_LEFT);
}

void converter_back(struct conversion *cv)
{
	push_conversion(cv, CONVERSION_LET_GO); /* once more */
}

/* --- the end --- */

static void forget_oldest_conversion(struct converter *con)
{
	struct conversion *cv = TAILQ_FIRST(&con->kept);

	TAILQ_REMOVE(&con->kept, cv, order);
	RB_REMOVE(conversion_tree, &con->all, cv);
	con->nkept--;
	conversion_free(cv);
}

static void finish_conversion(struct converter *con, struct conversion *cv,
			      enum conversion_state how)
{
	uint64_t *const counts[] = {
		[CONVERSION_DONE] = &con->count.done,
		[CONVERSION_FAILED] = &con->count.failed,
		[CONVERSION_CANCELLED] = &con->count.cancelled,
	};

	conversion_release(cv);
	TAILQ_REMOVE(&con->owned, cv, owned);
	cv->state = how;
	cv->ended = clock_now();
	(*counts[how])++;
	con->count.frames +=
		atomic_load_explicit(&cv->frames, memory_order_relaxed);
	con->cfg.ended(con->cfg.arg, cv);
	TAILQ_INSERT_TAIL(&con->kept, cv, order);
	if (++con->nkept > CONVERSIONS_KEPT)
		forget_oldest_conversion(con);
}

/* --- the beginning --- */

/* 0; -ENOSPC: not now; or -errno with cv->why. With cv->pricing it waits. */
static int start_conversion(struct converter *con, struct conversion *cv)
{
	struct cr_verdict v = { 0 };
	int err = con->cfg.price(con->cfg.arg, cv, &cv->why);

	if (!err)
		err = conversion_prepare(cv, &cv->why);
	if (err)
		return err;
	cv->io = con->io;
	cv->lt.kind = con->cfg.kind;
	err = live_add(con->cfg.live, &cv->lt, &v);
	if (!err)
		return 0;
	live_refusal(con->cfg.live, err, &v, cv->why.text,
		     sizeof(cv->why.text));
	conversion_release(cv);
	/* Not even when nothing else runs. */
	if (err == -ENOSPC && v.bound_ppm > 0 && v.need_ppm > v.bound_ppm)
		return -E2BIG;
	return err;
}

unsigned converter_descriptors(const struct converter *con)
{
	return con ? descriptors_for_conversions(FILES * con->cfg.running) : 0;
}

static void start_some(struct converter *con)
{
	unsigned most = converter_descriptors(con) / FILES;
	struct conversion *cv;

	while (con->count.running < most && (cv = TAILQ_FIRST(&con->waiting))) {
		int err = start_conversion(con, cv);

		if (err == -ENOSPC)
			return;
		TAILQ_REMOVE(&con->waiting, cv, order);
		if (cv->pricing)
			continue; /* until converter_priced() */
		con->count.waiting--;
		if (err) {
			finish_conversion(con, cv, CONVERSION_FAILED);
			continue;
		}
		cv->why.text[0] = '\0';
		cv->state = CONVERSION_RUNNING;
		cv->started = clock_now();
		con->count.running++;
		con->cfg.started(con->cfg.arg, cv);
		conversion_io_add(con->io, cv);
	}
}

void converter_priced(struct converter *con, struct conversion *cv, int err,
		      const struct cr_err *why)
{
	cv->pricing = NULL;
	cv->why.text[0] = '\0';
	if (err) {
		cv->why = *why;
		con->count.waiting--;
		finish_conversion(con, cv, CONVERSION_FAILED);
	} else {
		struct conversion *next;

		/* Among those that wait, in the order in which they were asked
		 * for. */
		TAILQ_FOREACH (next, &con->waiting, order)
			if (next->cfg.id > cv->cfg.id)
				break;
		if (next)
			TAILQ_INSERT_BEFORE(next, cv, order);
		else
			TAILQ_INSERT_TAIL(&con->waiting, cv, order);
	}
	start_some(con);
}

/* --- those that are asked for --- */

/* Does another conversion make the file that @cv is to make? */
static int check_only_writer(struct converter *con, struct conversion *cv)
{
	struct conversion *other;

	RB_FOREACH (other, conversion_tree, &con->all)
		if (!conversion_is_over(other->state) &&
		    !strcmp(other->cfg.out, cv->cfg.out))
			return cr_fail(&cv->why, -EBUSY,
				       "%s: conversion %" PRIu32
				       " makes that file",
				       cv->cfg.out, other->cfg.id);
	return 0;
}

/* Its files have been looked at: it waits from now on, or never was. */
static void join_conversion(struct converter *con, struct conversion *cv)
{
	struct audio *to = &cv->cfg.to;
	int err = cv->looked;

	if (!err && con->closed)
		err = cr_fail(&cv->why, -ESHUTDOWN,
			      "this node ends: it takes no new conversions");
	if (!err)
		err = check_only_writer(con, cv);
	if (err) {
		con->count.waiting--;
		con->count.refused++;
		TAILQ_REMOVE(&con->owned, cv, owned);
		cv->asker.notify(cv->asker.arg, NULL, err, &cv->why);
		conversion_free(cv);
		return;
	}
	if (to->kind != AUDIO_WAV)
		to->rate = audio_codec(to->kind)->sample_rate;
	else if (!to->rate)
		to->rate = cv->cfg.from.rate;
	cv->state = CONVERSION_WAITING;
	con->count.submitted++;
	RB_INSERT(conversion_tree, &con->all, cv);
	TAILQ_INSERT_TAIL(&con->waiting, cv, order);
	cv->asker.notify(cv->asker.arg, cv, 0, NULL);
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
	struct converter *con = arg;
	struct conversion *cv;

	(void)fd, (void)what;
	while (true) {
		(void)pthread_mutex_lock(&con->lock);
		cv = TAILQ_FIRST(&con->news);
		if (cv)
			TAILQ_REMOVE(&con->news, cv, link);
		(void)pthread_mutex_unlock(&con->lock);
		if (!cv)
			break;
		switch (cv->news) {
		case CONVERSION_LOOKED:
			join_conversion(con, cv);
			break;
		case CONVERSION_LET_GO:
			live_remove(con->cfg.live, &cv->lt);
			break;
		case CONVERSION_LEFT:
			con->count.running--;
			con->count.hung -= cv->hung;
			finish_conversion(con, cv, cv->result);
			break;
		}
	}
	start_some(con);
}

void converter_tick(struct converter *con)
{
	start_some(con);
}

/* --- open and close --- */

int converter_open(struct converter **out, const struct converter_config *cfg,
		   struct cr_err *e)
{
	struct converter *con = calloc(1, sizeof(*con));
	struct conversion_io_config io = {
		.live = cfg->live,
		.looked = on_looked,
		.over = on_over,
	};
	int err;

	if (!con)
		return cr_fail(e, -ENOMEM, "out of memory for conversions");
	con->cfg = *cfg;
	con->spool.dir = -1;
	TAILQ_INIT(&con->waiting);
	TAILQ_INIT(&con->kept);
	TAILQ_INIT(&con->owned);
	TAILQ_INIT(&con->news);
	(void)pthread_mutex_init(&con->lock, NULL);
	io.spool = &con->spool;
	io.arg = con;
	con->wake = event_new(cfg->base, -1, 0, on_wake, con);
	err = con->wake ? spool_open(&con->spool, cfg->dir, cfg->max_bytes, e)
			: cr_fail(e, -ENOMEM, "out of memory for events");
	if (!err)
		err = conversion_io_open(&con->io, &io, e);
	if (err) {
		converter_close(con);
		return err;
	}
	*out = con;
	return 0;
}

void converter_end(struct converter *con)
{
	struct conversion *cv;
	uint32_t id = 0;

	if (!con)
		return;
	con->closed = true;
	while ((cv = converter_after(con, id))) {
		id = cv->cfg.id;
		(void)converter_cancel(con, cv);
	}
	while (con->count.running > con->count.hung || con->count.waiting)
		(void)event_base_loop(con->cfg.base, EVLOOP_ONCE);
}

void converter_end_all(struct converter *con)
{
	while (con && con->count.running)
		(void)event_base_loop(con->cfg.base, EVLOOP_ONCE);
}

void converter_close(struct converter *con)
{
	if (!con)
		return;
	conversion_io_close(con->io);
	while (con->nkept)
		forget_oldest_conversion(con);
	spool_close(&con->spool);
	if (con->wake)
		event_free(con->wake);
	(void)pthread_mutex_destroy(&con->lock);
	free(con);
}

void converter_change(struct converter *con, const struct converter_config *to)
{
	con->cfg.max = to->max;
	con->cfg.running = to->running;
	con->cfg.floor = to->floor;
	start_some(con);
}

/* --- requests --- */

int converter_submit(struct converter *con, const struct conversion_cfg *cfg,
		     const char *owner, const struct conversion_asker *asker,
		     struct cr_err *e)
{
	struct conversion_cfg full = *cfg;
	struct conversion *cv = NULL;
	unsigned active = con->count.waiting + con->count.running;
	int err = 0;

	if (con->closed)
		err = cr_fail(e, -ESHUTDOWN,
			      "this node ends: it takes no new conversions");
	else if (active >= con->cfg.max)
		err = cr_fail(e, -ENOSPC,
			      "no-capacity: %u conversions wait or run, the "
			      "most this node takes (--max-conversions): wait "
			      "for some to end",
			      active);
	full.floor = con->cfg.floor;
	if (!err)
		err = audio_kind_of(full.in, &full.from.kind, e);
	if (!err)
		err = audio_kind_of(full.out, &full.to.kind, e);
	if (!err && !strcmp(full.in, full.out))
		err = cr_fail(e, -EINVAL, "%s: input and output are one file",
			      full.in);
	if (!err)
		cv = conversion_new(&full);
	if (!cv) {
		con->count.refused++;
		return err ? err : cr_fail(e, -ENOMEM, "out of memory");
	}
	cv->set = con;
	cv->asker = *asker;
	(void)snprintf(cv->owner, sizeof(cv->owner), "%s", owner);
	TAILQ_INSERT_TAIL(&con->owned, cv, owned);
	con->count.waiting++;
	conversion_io_look(con->io, cv);
	return 0;
}

int converter_cancel(struct converter *con, struct conversion *cv)
{
	if (conversion_is_over(cv->state))
		return -EALREADY;
	if (cv->state == CONVERSION_WAITING) {
		if (cv->pricing) {
			con->cfg.unprice(con->cfg.arg, cv);
			cv->pricing = NULL;
			cv->why.text[0] = '\0';
		} else {
			TAILQ_REMOVE(&con->waiting, cv, order);
		}
		con->count.waiting--;
		finish_conversion(con, cv, CONVERSION_CANCELLED);
		return 0;
	}
	cv->state = CONVERSION_ENDING;
	atomic_store_explicit(&cv->cancel, true, memory_order_relaxed);
	conversion_io_wake(con->io);
	return 0;
}

void converter_hung(struct converter *con, struct conversion *cv)
{
	con->count.hung += !cv->hung;
	cv->hung = true;
	(void)converter_cancel(con, cv);
}

struct conversion *converter_after(struct converter *con, uint32_t id)
{
	const struct conversion above = { .cfg.id = id + 1 };

	return con && id < UINT32_MAX
		       ? RB_NFIND(conversion_tree, &con->all,
				  (struct conversion *)(uintptr_t)&above)
		       : NULL;
}

struct conversion *converter_find(struct converter *con, uint32_t id)
{
	struct conversion *cv = id ? converter_after(con, id - 1) : NULL;

	return cv && cv->cfg.id == id ? cv : NULL;
}

bool converter_has(const struct converter *con, const char *owner)
{
	const struct conversion *cv;

	if (con)
		TAILQ_FOREACH (cv, &con->owned, owned)
			if (!strcmp(cv->owner, owner))
				return true;
	return false;
}

void converter_pass(struct converter *con, const char *from, const char *to)
{
	struct conversion *cv;

	if (con)
		TAILQ_FOREACH (cv, &con->owned, owned)
			if (!strcmp(cv->owner, from))
				(void)snprintf(cv->owner, sizeof(cv->owner),
					       "%s", to);
}

unsigned converter_active(const struct converter *con)
{
	return con ? con->count.waiting + con->count.running - con->count.hung
		   : 0;
}

struct converter_counts converter_counts(const struct converter *con)
{
	return con->count;
}
