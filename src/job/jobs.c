/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of a node.
 *
 * The way out of a running job crosses three threads: the I/O thread lets go
 * (over), control takes the task out of the engine, the worker that has it lets
 * go (gone), control ends it.
 */
#include "job/jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "job/job_io.h"
#include "job/reader.h"

RB_HEAD(job_tree, job);
TAILQ_HEAD(job_list, job);

struct jobs {
	struct jobs_config cfg;
	struct spool spool;
	struct job_io *io;
	struct event *wake;
	struct job_tree all;
	struct job_list waiting, kept;
	unsigned nkept;
	struct jobs_counts count;
	bool closed;

	/* between threads; under lock */
	pthread_mutex_t lock;
	struct job *over, *gone;
};

static int job_cmp(struct job *a, struct job *b)
{
	return (a->cfg.id > b->cfg.id) - (a->cfg.id < b->cfg.id);
}

RB_PROTOTYPE(job_tree, job, by_id, job_cmp)
RB_GENERATE(job_tree, job, by_id, job_cmp)

/* --- between threads --- */

static void push(struct jobs *js, struct job **list, struct job *j)
{
	(void)pthread_mutex_lock(&js->lock);
	j->next = *list;
	*list = j;
	(void)pthread_mutex_unlock(&js->lock);
	event_active(js->wake, EV_READ, 0);
}

static struct job *take(struct jobs *js, struct job **list)
{
	struct job *j;

	(void)pthread_mutex_lock(&js->lock);
	j = *list;
	if (j)
		*list = j->next;
	(void)pthread_mutex_unlock(&js->lock);
	return j;
}

static void over(void *arg, struct job *j)
{
	struct jobs *js = arg;

	push(js, &js->over, j);
}

void jobs_gone(struct job *j)
{
	struct jobs *js = j->set;

	push(js, &js->gone, j);
}

/* --- the end --- */

static void forget_oldest(struct jobs *js)
{
	struct job *j = TAILQ_FIRST(&js->kept);

	TAILQ_REMOVE(&js->kept, j, order);
	RB_REMOVE(job_tree, &js->all, j);
	js->nkept--;
	job_free(j);
}

static void end(struct jobs *js, struct job *j, enum job_state how)
{
	uint64_t *const counts[] = {
		[JOB_DONE] = &js->count.done,
		[JOB_FAILED] = &js->count.failed,
		[JOB_CANCELLED] = &js->count.cancelled,
	};

	job_release(j);
	j->state = how;
	j->ended = clock_now();
	(*counts[how])++;
	js->count.frames +=
		atomic_load_explicit(&j->frames, memory_order_relaxed);
	js->cfg.ended(js->cfg.arg, j);
	TAILQ_INSERT_TAIL(&js->kept, j, order);
	if (++js->nkept > JOBS_KEPT)
		forget_oldest(js);
}

/* --- the beginning --- */

/* Not even when nothing else runs. */
static bool never_fits(int err, const struct cr_verdict *v)
{
	return err == -ENOSPC && v->bound_ppm > 0 && v->need_ppm > v->bound_ppm;
}

/* 0; -ENOSPC: not now; or -errno with j->why. */
static int start(struct jobs *js, struct job *j)
{
	struct cr_verdict v = { 0 };
	int err = js->cfg.price(js->cfg.arg, j, &j->why);

	if (!err)
		err = job_prepare(j, &j->why);
	if (err)
		return err;
	j->io = js->io;
	j->lt.kind = js->cfg.kind;
	err = live_add(js->cfg.live, &j->lt, &v);
	if (!err)
		return 0;
	live_refusal(js->cfg.live, err, &v, j->why.text, sizeof(j->why.text));
	job_release(j);
	return never_fits(err, &v) ? -E2BIG : err;
}

static void start_some(struct jobs *js)
{
	struct job *j;

	while (js->count.running < js->cfg.running &&
	       (j = TAILQ_FIRST(&js->waiting))) {
		int err = start(js, j);

		if (err == -ENOSPC)
			return;
		TAILQ_REMOVE(&js->waiting, j, order);
		js->count.waiting--;
		if (err) {
			end(js, j, JOB_FAILED);
			continue;
		}
		j->why.text[0] = '\0';
		j->state = JOB_RUNNING;
		j->started = clock_now();
		js->count.running++;
		js->cfg.started(js->cfg.arg, j);
		job_io_add(js->io, j);
	}
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
	struct jobs *js = arg;
	struct job *j;

	(void)fd, (void)what;
	while ((j = take(js, &js->over)))
		live_remove(js->cfg.live, &j->lt);
	while ((j = take(js, &js->gone))) {
		js->count.running--;
		end(js, j, j->result);
	}
	start_some(js);
}

void jobs_tick(struct jobs *js)
{
	start_some(js);
}

/* --- open and close --- */

int jobs_open(struct jobs **out, const struct jobs_config *cfg,
	      struct cr_err *e)
{
	struct jobs *js = calloc(1, sizeof(*js));
	struct job_io_config io = { .live = cfg->live, .over = over };
	int err;

	if (!js)
		return cr_fail(e, -ENOMEM, "out of memory for jobs");
	js->cfg = *cfg;
	js->spool.dir = -1;
	TAILQ_INIT(&js->waiting);
	TAILQ_INIT(&js->kept);
	(void)pthread_mutex_init(&js->lock, NULL);
	io.spool = &js->spool;
	io.arg = js;
	js->wake = event_new(cfg->base, -1, 0, on_wake, js);
	err = js->wake ? spool_open(&js->spool, cfg->dir, cfg->max_bytes, e)
		       : cr_fail(e, -ENOMEM, "out of memory for events");
	if (!err)
		err = job_io_open(&js->io, &io, e);
	if (err) {
		jobs_close(js);
		return err;
	}
	*out = js;
	return 0;
}

void jobs_end(struct jobs *js)
{
	struct job *j, *next;

	if (!js)
		return;
	js->closed = true;
	for (j = RB_MIN(job_tree, &js->all); j; j = next) {
		uint32_t id = j->cfg.id;

		(void)jobs_cancel(js, j);
		next = jobs_after(js, id);
	}
	while (js->count.running)
		(void)event_base_loop(js->cfg.base, EVLOOP_ONCE);
}

void jobs_close(struct jobs *js)
{
	if (!js)
		return;
	job_io_close(js->io);
	while (js->nkept)
		forget_oldest(js);
	spool_close(&js->spool);
	if (js->wake)
		event_free(js->wake);
	(void)pthread_mutex_destroy(&js->lock);
	free(js);
}

/* --- requests --- */

static int look_at_input(struct jobs *js, struct job_cfg *cfg, uint64_t *bytes,
			 struct cr_err *e)
{
	struct cr_err why;
	struct reader r;
	int fd, err;

	err = audio_kind_of(cfg->in, &cfg->from.kind, e);
	if (err)
		return err;
	fd = spool_read(&js->spool, cfg->in, bytes, e);
	if (fd < 0)
		return fd;
	err = reader_open(&r, fd, cfg->from.kind, *bytes, &why);
	(void)close(fd);
	if (err)
		return cr_fail(e, err, "%s: %s", cfg->in, why.text);
	cfg->from.rate = r.audio.rate;
	return 0;
}

static int look_at_output(struct jobs *js, struct job_cfg *cfg,
			  struct cr_err *e)
{
	int err = audio_kind_of(cfg->out, &cfg->to.kind, e);
	struct job *j;

	if (!err)
		err = spool_check(&js->spool, cfg->out, cfg->overwrite, e);
	if (err)
		return err;
	if (!strcmp(cfg->in, cfg->out))
		return cr_fail(e, -EINVAL, "%s: input and output are one file",
			       cfg->in);
	RB_FOREACH (j, job_tree, &js->all)
		if (!job_is_over(j->state) && !strcmp(j->cfg.out, cfg->out))
			return cr_fail(e, -EBUSY,
				       "%s: job %" PRIu32 " makes that file",
				       cfg->out, j->cfg.id);
	if (cfg->to.kind != AUDIO_WAV)
		cfg->to.rate = audio_codec(cfg->to.kind)->sample_rate;
	else if (!cfg->to.rate)
		cfg->to.rate = cfg->from.rate;
	return 0;
}

int jobs_submit(struct jobs *js, const struct job_cfg *cfg, const char *owner,
		struct job **out, struct cr_err *e)
{
	struct job_cfg full = *cfg;
	uint64_t bytes = 0;
	struct job *j;
	int err;

	if (js->closed ||
	    js->count.waiting + js->count.running >= js->cfg.max) {
		js->count.refused++;
		return cr_fail(e, -ENOSPC,
			       "no-capacity: %u jobs wait or run, which is the "
			       "most this node takes (--max-jobs): wait for "
			       "some to end",
			       js->count.waiting + js->count.running);
	}
	full.floor = js->cfg.floor;
	err = look_at_input(js, &full, &bytes, e);
	if (!err)
		err = look_at_output(js, &full, e);
	j = err ? NULL : job_new(&full);
	if (!j) {
		js->count.refused++;
		return err ? err : cr_fail(e, -ENOMEM, "out of memory");
	}
	j->bytes = bytes;
	j->set = js;
	(void)snprintf(j->owner, sizeof(j->owner), "%s", owner);
	RB_INSERT(job_tree, &js->all, j);
	TAILQ_INSERT_TAIL(&js->waiting, j, order);
	js->count.waiting++;
	js->count.submitted++;
	/* not at once: the reply to its submission comes before its end */
	event_active(js->wake, EV_READ, 0);
	*out = j;
	return 0;
}

int jobs_cancel(struct jobs *js, struct job *j)
{
	if (job_is_over(j->state))
		return -EALREADY;
	if (j->state == JOB_WAITING) {
		TAILQ_REMOVE(&js->waiting, j, order);
		js->count.waiting--;
		end(js, j, JOB_CANCELLED);
		return 0;
	}
	j->state = JOB_ENDING;
	atomic_store_explicit(&j->cancel, true, memory_order_relaxed);
	job_io_poke(js->io);
	return 0;
}

struct job *jobs_after(struct jobs *js, uint32_t id)
{
	struct job *j = RB_ROOT(&js->all), *best = NULL;

	while (j) {
		if (j->cfg.id > id) {
			best = j;
			j = RB_LEFT(j, by_id);
		} else {
			j = RB_RIGHT(j, by_id);
		}
	}
	return best;
}

struct job *jobs_find(struct jobs *js, uint32_t id)
{
	struct job *j = id ? jobs_after(js, id - 1) : NULL;

	return j && j->cfg.id == id ? j : NULL;
}

struct jobs_counts jobs_counts(const struct jobs *js)
{
	return js->count;
}
