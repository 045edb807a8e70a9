/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of a node.
 *
 * A job that is asked for goes to the I/O thread and back (looked) before it is
 * one. The way out of a running job crosses three threads: the I/O thread lets
 * go (over), control takes the task out of the engine, the worker that has it
 * lets go (gone), control ends it.
 */
#include "convert/converter.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "convert/conversion_io.h"

RB_HEAD(job_tree, job);

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
	struct job_list looked, over, gone;
};

static int job_cmp(struct job *a, struct job *b)
{
	return (a->cfg.id > b->cfg.id) - (a->cfg.id < b->cfg.id);
}

RB_PROTOTYPE(job_tree, job, by_id, job_cmp)
RB_GENERATE(job_tree, job, by_id, job_cmp)

/* --- between threads --- */

static void push(struct jobs *js, struct job_list *list, struct job *j)
{
	(void)pthread_mutex_lock(&js->lock);
	TAILQ_INSERT_TAIL(list, j, link);
	(void)pthread_mutex_unlock(&js->lock);
	event_active(js->wake, EV_READ, 0);
}

static struct job *take(struct jobs *js, struct job_list *list)
{
	struct job *j;

	(void)pthread_mutex_lock(&js->lock);
	j = TAILQ_FIRST(list);
	if (j)
		TAILQ_REMOVE(list, j, link);
	(void)pthread_mutex_unlock(&js->lock);
	return j;
}

static void looked(void *arg, struct job *j)
{
	struct jobs *js = arg;

	push(js, &js->looked, j);
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

void jobs_back(struct job *j)
{
	over(j->set, j); /* once more */
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

/* --- those that are asked for --- */

/* Does another job make the file that @j is to make? */
static int check_alone(struct jobs *js, struct job *j)
{
	struct job *other;

	RB_FOREACH (other, job_tree, &js->all)
		if (!job_is_over(other->state) &&
		    !strcmp(other->cfg.out, j->cfg.out))
			return cr_fail(&j->why, -EBUSY,
				       "%s: job %" PRIu32 " makes that file",
				       j->cfg.out, other->cfg.id);
	return 0;
}

static void refuse(struct jobs *js, struct job *j, int err)
{
	js->count.waiting--;
	js->count.refused++;
	j->asker.tell(j->asker.arg, NULL, err, &j->why);
	job_free(j);
}

/* Its files have been looked at: it waits from now on, or never was. */
static void join(struct jobs *js, struct job *j)
{
	struct audio *to = &j->cfg.to;
	int err = j->looked;

	if (!err && js->closed)
		err = cr_fail(&j->why, -ESHUTDOWN,
			      "this node ends: it takes no new jobs");
	if (!err)
		err = check_alone(js, j);
	if (err) {
		refuse(js, j, err);
		return;
	}
	if (to->kind != AUDIO_WAV)
		to->rate = audio_codec(to->kind)->sample_rate;
	else if (!to->rate)
		to->rate = j->cfg.from.rate;
	j->state = JOB_WAITING;
	js->count.submitted++;
	RB_INSERT(job_tree, &js->all, j);
	TAILQ_INSERT_TAIL(&js->waiting, j, order);
	j->asker.tell(j->asker.arg, j, 0, NULL);
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
	struct jobs *js = arg;
	struct job *j;

	(void)fd, (void)what;
	while ((j = take(js, &js->looked)))
		join(js, j);
	while ((j = take(js, &js->over)))
		live_remove(js->cfg.live, &j->lt);
	while ((j = take(js, &js->gone))) {
		js->count.running--;
		js->count.hung -= j->hung;
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
	struct job_io_config io = {
		.live = cfg->live,
		.looked = looked,
		.over = over,
	};
	int err;

	if (!js)
		return cr_fail(e, -ENOMEM, "out of memory for jobs");
	js->cfg = *cfg;
	js->spool.dir = -1;
	TAILQ_INIT(&js->waiting);
	TAILQ_INIT(&js->kept);
	TAILQ_INIT(&js->looked);
	TAILQ_INIT(&js->over);
	TAILQ_INIT(&js->gone);
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
	while (js->count.running > js->count.hung || js->count.waiting)
		(void)event_base_loop(js->cfg.base, EVLOOP_ONCE);
}

void jobs_end_all(struct jobs *js)
{
	while (js && js->count.running)
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

/* What can be told from the names alone. */
static int check_names(struct job_cfg *cfg, struct cr_err *e)
{
	int err = audio_kind_of(cfg->in, &cfg->from.kind, e);

	if (!err)
		err = audio_kind_of(cfg->out, &cfg->to.kind, e);
	if (!err && !strcmp(cfg->in, cfg->out))
		err = cr_fail(e, -EINVAL, "%s: input and output are one file",
			      cfg->in);
	return err;
}

static int check_room(const struct jobs *js, struct cr_err *e)
{
	unsigned active = js->count.waiting + js->count.running;

	if (js->closed)
		return cr_fail(e, -ESHUTDOWN,
			       "this node ends: it takes no new jobs");
	if (active >= js->cfg.max)
		return cr_fail(e, -ENOSPC,
			       "no-capacity: %u jobs wait or run, which is the "
			       "most this node takes (--max-jobs): wait for "
			       "some to end",
			       active);
	return 0;
}

int jobs_submit(struct jobs *js, const struct job_cfg *cfg, const char *owner,
		const struct job_asker *asker, struct cr_err *e)
{
	struct job_cfg full = *cfg;
	struct job *j = NULL;
	int err = check_room(js, e);

	full.floor = js->cfg.floor;
	if (!err)
		err = check_names(&full, e);
	if (!err)
		j = job_new(&full);
	if (!j) {
		js->count.refused++;
		return err ? err : cr_fail(e, -ENOMEM, "out of memory");
	}
	j->set = js;
	j->asker = *asker;
	(void)snprintf(j->owner, sizeof(j->owner), "%s", owner);
	js->count.waiting++;
	job_io_look(js->io, j);
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

void jobs_hung(struct jobs *js, struct job *j)
{
	js->count.hung += !j->hung;
	j->hung = true;
	(void)jobs_cancel(js, j);
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
