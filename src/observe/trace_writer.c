/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trace rings and the thread that drains them. The file itself is
 * trace_file.c.
 *
 * The drain thread polls: waking it would cost the producers a system call.
 * At 20 ms a ring of 4096 records carries 200,000 records a second.
 *
 * How the trace of a running node begins is one JSON object, written here as
 * text, since what nodes are made of knows no JSON; keys are in order.
 */
#define _GNU_SOURCE
#include "observe/trace_writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/thread.h"
#include "base/utf8.h"

/* @text in quotes; '?' for each byte that is no UTF-8. */
static void put_quoted_text(FILE *f, const char *text)
{
	size_t left = strlen(text), n;

	(void)fputc('"', f);
	for (; left; text += n ? n : 1, left -= n ? n : 1) {
		n = utf8_length(text, left);
		if (!n)
			(void)fputc('?', f);
		else if ((unsigned char)*text < 0x20)
			(void)fprintf(f, "\\u%04x", (unsigned)*text);
		else if (*text == '"' || *text == '\\')
			(void)fprintf(f, "\\%c", *text);
		else
			(void)fwrite(text, 1, n, f);
	}
	(void)fputc('"', f);
}

static void put_header_member(FILE *f, const char *key, const char *text)
{
	(void)fprintf(f, "\"%s\":", key);
	put_quoted_text(f, text);
	(void)fputc(',', f);
}

static void put_trace_head(FILE *f, const struct trace_head *h)
{
	struct utsname u = { 0 };

	(void)uname(&u);
	(void)fprintf(f, "{\"cpus_per_rq\":%u,\"live\":true,\"machine\":{",
		      h->cpus_per_rq);
	put_header_member(f, "arch", u.machine);
	put_header_member(f, "kernel", u.release);
	(void)fputs("\"node\":", f);
	put_quoted_text(f, u.nodename);
	(void)fputs("},", f);
	(void)fprintf(f, "\"max_age_ns\":%lld,", (long long)h->max_age);
	put_header_member(f, "options", h->options);
	put_header_member(f, "program", h->program);
	(void)fprintf(f, "\"ring_frames\":%u,", h->ring_frames);
	put_header_member(f, "scheduler", h->scheduler);
	put_header_member(f, "shed", h->shed ? h->shed : "age");
	(void)fprintf(f, "\"shed_wait_ns\":%lld,", (long long)h->shed_wait);
	put_header_member(f, "version", h->version);
	(void)fprintf(f, "\"workers\":%u}", h->workers);
}

char *trace_head_text(const struct trace_head *h)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	bool bad;

	if (!f)
		return NULL;
	put_trace_head(f, h);
	bad = ferror(f);
	if (fclose(f) || bad) {
		free(text);
		return NULL;
	}
	return text;
}

int trace_start_live(struct trace *t, const char *path,
		     const struct trace_head *h, struct cr_err *e)
{
	char *text = trace_head_text(h);
	int err;

	if (!text)
		return cr_fail(e, -ENOMEM, "out of memory");
	err = trace_start(t, path, text, e);
	free(text);
	return err;
}

#define DRAIN_INTERVAL (20 * CR_MS)
/* A crash loses at most this much of the trace. */
#define FLUSH_INTERVAL CR_SEC

/* ON, trace_end(): ENDING, trace_stop(): OFF */
enum state { OFF, ON, ENDING };

struct trace {
	unsigned nrings;
	struct trace_ring *ring; /* [nrings] */
	enum trace_over over;
	void (*on_error)(void *arg, int err);
	void *error_arg;
	void (*on_closed)(void *arg);
	void *closed_arg;

	/* the control thread's */
	enum state state;
	bool touched; /* the rings' pages are there */
	pthread_t thread;

	/* the control thread's while off, else the drain thread's */
	struct trace_file file;
	uint64_t notes, lost;
	bool error_reported;

	pthread_mutex_t lock; /* protects stopping */
	pthread_cond_t wake;
	bool stopping;
};

int trace_resize(struct trace *t, unsigned i, unsigned records)
{
	struct trace_ring *r = trace_ring(t, i);
	uint_fast64_t size = 2;
	void *slots;

	while (size < records)
		size *= 2;
	slots = calloc(size, sizeof(*r->slot));
	if (!slots)
		return -ENOMEM;
	free(r->slot);
	r->slot = slots;
	r->mask = size - 1;
	return 0;
}

int trace_open(struct trace **out, unsigned nrings, unsigned records)
{
	struct trace *t;
	pthread_condattr_t attr;
	int rc;

	if (!nrings || !records || records > 1u << 28)
		return -EINVAL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	(void)pthread_mutex_init(&t->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&t->wake, &attr);
	(void)pthread_condattr_destroy(&attr);
	t->nrings = nrings;
	t->ring = aligned_alloc(alignof(struct trace_ring),
				nrings * sizeof(*t->ring));
	rc = t->ring ? 0 : -ENOMEM;
	if (t->ring)
		memset(t->ring, 0, nrings * sizeof(*t->ring));
	for (unsigned i = 0; i < nrings && !rc; i++)
		rc = trace_resize(t, i, records);
	if (rc)
		trace_close(t);
	else
		*out = t;
	return rc;
}

void trace_close(struct trace *t)
{
	if (!t)
		return;
	(void)trace_stop(t, NULL);
	for (unsigned i = 0; t->ring && i < t->nrings; i++)
		free(t->ring[i].slot);
	free(t->ring);
	(void)pthread_cond_destroy(&t->wake);
	(void)pthread_mutex_destroy(&t->lock);
	free(t);
}

struct trace_ring *trace_ring(struct trace *t, unsigned i)
{
	CR_ASSERT(i < t->nrings);
	return &t->ring[i];
}

void trace_set_over(struct trace *t, enum trace_over over)
{
	t->over = over;
}

void trace_on_error(struct trace *t, void (*fn)(void *arg, int err), void *arg)
{
	t->on_error = fn;
	t->error_arg = arg;
}

void trace_on_closed(struct trace *t, void (*fn)(void *arg), void *arg)
{
	t->on_closed = fn;
	t->closed_arg = arg;
}

void trace_push(struct trace_ring *r, const union cr_trace_record *rec)
{
	uint_fast64_t head =
		atomic_load_explicit(&r->head, memory_order_relaxed);

	if (head - r->tail_seen > r->mask) {
		/* acquire, pairs with drain_ring(): the slot has been read */
		r->tail_seen =
			atomic_load_explicit(&r->tail, memory_order_acquire);
		if (head - r->tail_seen > r->mask) {
			uint_fast64_t lost = atomic_load_explicit(
				&r->lost, memory_order_relaxed);

			/* release, pairs with note_losses(): what was put
			 * before a loss is in the file before its note */
			atomic_store_explicit(&r->lost, lost + 1,
					      memory_order_release);
			return;
		}
	}
	r->slot[head & r->mask] = *rec;
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

static void drain_ring(struct trace *t, struct trace_ring *r)
{
	uint_fast64_t tail =
		atomic_load_explicit(&r->tail, memory_order_relaxed);
	/* acquire, pairs with trace_push(): the slots are filled */
	uint_fast64_t head =
		atomic_load_explicit(&r->head, memory_order_acquire);

	for (; tail != head; tail++) {
		trace_file_put(&t->file, &r->slot[tail & r->mask]);
		/* Often, so that a slow disk does not hold a whole ring. */
		if (!(tail & 63))
			atomic_store_explicit(&r->tail, tail + 1,
					      memory_order_release);
	}
	atomic_store_explicit(&r->tail, tail, memory_order_release);
}

static void note_losses(struct trace *t, unsigned i)
{
	struct trace_ring *r = &t->ring[i];
	uint_fast64_t lost =
		atomic_load_explicit(&r->lost, memory_order_acquire);
	uint_fast64_t fresh = lost - r->lost_noted;
	union cr_trace_record rec;

	if (!fresh)
		return;
	memset(&rec, 0, sizeof(rec));
	rec.note = (struct cr_trace_note){
		.kind = CR_TRACE_NOTE,
		.code = CR_NOTE_LOST,
		.worker = (uint16_t)i,
		.count = fresh > UINT32_MAX ? UINT32_MAX : (uint32_t)fresh,
		.at = clock_now(),
		.text = "trace ring full",
	};
	r->lost_noted += rec.note.count;
	t->lost += rec.note.count;
	t->notes++;
	trace_file_put(&t->file, &rec);
}

static void report_error(struct trace *t)
{
	if (!t->file.error || t->error_reported)
		return;
	t->error_reported = true;
	if (t->on_error)
		t->on_error(t->error_arg, t->file.error);
}

static void drain_all(struct trace *t)
{
	for (unsigned i = 0; i < t->nrings; i++) {
		drain_ring(t, &t->ring[i]);
		note_losses(t, i);
	}
	report_error(t);
}

/* Sleeps for a drain interval; false: the trace is being stopped. */
static bool sleep_a_while(struct trace *t)
{
	cr_ns until = clock_now() + DRAIN_INTERVAL;
	struct timespec ts = { .tv_sec = (time_t)(until / CR_SEC),
			       .tv_nsec = (long)(until % CR_SEC) };
	bool go_on;
	int rc = 0;

	(void)pthread_mutex_lock(&t->lock);
	while (!t->stopping && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&t->wake, &t->lock, &ts);
	go_on = !t->stopping;
	(void)pthread_mutex_unlock(&t->lock);
	return go_on;
}

static void *drain_thread(void *arg)
{
	struct trace *t = arg;
	cr_ns flushed = clock_now();

	(void)pthread_setname_np(pthread_self(), "cr-trace");
	while (sleep_a_while(t)) {
		drain_all(t);
		if (clock_now() - flushed < FLUSH_INTERVAL)
			continue;
		trace_file_flush(&t->file);
		flushed = clock_now();
	}
	drain_all(t);
	trace_file_close(&t->file);
	report_error(t);
	if (t->on_closed)
		t->on_closed(t->closed_arg);
	return NULL;
}

static void switch_rings(struct trace *t, bool on)
{
	for (unsigned i = 0; i < t->nrings; i++)
		atomic_store_explicit(&t->ring[i].on, on, memory_order_relaxed);
}

/* A producer must not fault pages in. Not before there is a trace: that would
 * take memory, and time at the start. */
static void touch_rings(struct trace *t)
{
	for (unsigned i = 0; i < t->nrings && !t->touched; i++)
		memset(t->ring[i].slot, 0xff,
		       (t->ring[i].mask + 1) * sizeof(*t->ring[i].slot));
	t->touched = true;
}

int trace_start(struct trace *t, const char *path, const char *header,
		struct cr_err *e)
{
	int rc;

	if (t->state == ENDING)
		return cr_fail(
			e, -EBUSY,
			"the last trace is on its way to the disk still; "
			"try again when it has been stopped");
	if (t->state == ON)
		return cr_fail(e, -EBUSY,
			       "a trace is already being written; stop it "
			       "first");
	rc = trace_file_create(&t->file, path, t->over, e);
	if (rc)
		return rc;
	rc = trace_file_header(&t->file, header,
			       clock_read(CLOCK_REALTIME) - clock_now(), e);
	touch_rings(t);
	/* forget what a put that met the last stop may have left behind */
	for (unsigned i = 0; i < t->nrings; i++) {
		struct trace_ring *r = &t->ring[i];

		atomic_store_explicit(
			&r->tail,
			atomic_load_explicit(&r->head, memory_order_acquire),
			memory_order_release);
		r->lost_noted =
			atomic_load_explicit(&r->lost, memory_order_acquire);
	}
	t->notes = t->lost = 0;
	t->error_reported = t->stopping = false;
	if (!rc) {
		rc = -pthread_create(&t->thread, NULL, drain_thread, t);
		if (rc)
			(void)thread_fail(e, rc, "the trace");
	}
	if (rc) {
		trace_file_drop(&t->file);
		/* then it is ours, and no trace */
		if (t->over == TRACE_OVER_NOTHING)
			(void)unlink(path);
		return rc;
	}
	t->state = ON;
	switch_rings(t, true);
	return 0;
}

int trace_end(struct trace *t)
{
	if (t->state != ON)
		return -EALREADY;
	switch_rings(t, false);
	(void)pthread_mutex_lock(&t->lock);
	t->stopping = true;
	(void)pthread_cond_signal(&t->wake);
	(void)pthread_mutex_unlock(&t->lock);
	t->state = ENDING;
	return 0;
}

int trace_stop(struct trace *t, struct trace_totals *totals)
{
	if (t->state == OFF)
		return -EALREADY;
	(void)trace_end(t);
	(void)pthread_join(t->thread, NULL);
	t->state = OFF;
	if (totals)
		*totals = (struct trace_totals){
			.written = t->file.written,
			.notes = t->notes,
			.lost = t->lost,
			.unwritten = t->file.unwritten,
			.bytes = t->file.bytes,
			.error = t->file.error,
		};
	return 0;
}
