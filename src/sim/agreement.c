/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of the recorded run and what became of them when they were played
 * again.
 */
#include "sim/agreement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core.h"
#include "engine/meter.h"
#include "sim/worker_time.h"

/*
 * A live run's events, given to the core by time:
 *
 *   end of a turn, call joins, other scheduler, frame comes, pick
 *                                                             |
 *                                     ask; after a wrong answer restore the
 *                                     state, and let only the live call run
 */

/* A pick may look at every call: picks times calls that are asked about each
 * time that a scheduler is at work. */
#define LOOKS_PER_STRETCH 2000000u

enum event_kind {
	TURN_ENDS,
	CALL_JOINS,
	SWITCHES,
	FRAME_COMES,
	GIVEN_UP,
	TURN_BEGINS
};

struct event {
	cr_ns at;
	enum event_kind kind;
	size_t index; /* of a job, call or switch */
};

struct audited_call {
	struct core_task task;
	struct audit *a;
	size_t next, end; /* jobs of it that have not been claimed */
	bool joined;
};

/* The scheduler of a stretch, whose picks are looked at. */
struct audited {
	struct cr_sched_ops ops;
	const struct cr_sched_ops *real;
	struct audit *a;
};

struct audit {
	struct recording *r;
	struct core *core;
	struct cr_rq *rq;
	struct audited_call *call; /* [replay.ncalls] */
	struct audited audited[2]; /* the one in use, and the one before it */
	unsigned current;
	unsigned char *saved; /* the scheduler's state before a pick */
	cr_ns next_tick;
	struct cr_cpus kick;
	const struct replay_job *wanted; /* what was picked */
	bool wrong;			 /* it was not the answer */
	size_t looks_left;		 /* of LOOKS_PER_STRETCH */
	struct event *event;
	size_t nevents;
	cr_ns now;
};

/* --- a call's frames --- */

static struct audited_call *pick_call_of(struct core_task *t)
{
	return CR_CONTAINER_OF(t, struct audited_call, task);
}

/* When it was in the call's buffer, at the latest. */
static cr_ns came_at(const struct replay_job *j)
{
	return j->known ? j->release
			: cr_ns_min(j->at + j->received, j->release);
}

/* Did the live run give it up by @now? */
static bool given_up_by(const struct replay_job *j, cr_ns now)
{
	return !replay_is_turn(j) && j->pick != CR_NEVER && j->pick <= now;
}

/* Had the frame that c->next is been dropped by @now, as the oldest of too many
 * that waited? */
static bool overwritten_by(const struct audited_call *c, cr_ns now)
{
	const struct recording *r = c->a->r;
	const struct replay_job *j = &r->replay.job[c->next];
	size_t ring = (size_t)r->campaign->flows[r->flow[j->call]].ring;

	return j->outcome == CR_OUT_OVERWRITTEN && ring &&
	       c->end - c->next > ring && came_at(j + ring) <= now;
}

static bool peek_recorded(struct core_task *t, struct cr_job *job)
{
	struct audited_call *c = pick_call_of(t);
	const struct replay_job *j;

	for (; c->next < c->end; c->next++) {
		j = &c->a->r->replay.job[c->next];
		if (j->outcome != CR_OUT_CANCELLED &&
		    !given_up_by(j, c->a->now - 1) &&
		    !overwritten_by(c, c->a->now))
			break;
	}
	j = &c->a->r->replay.job[c->next];
	if (c->next == c->end || came_at(j) > c->a->now)
		return false;
	job->seq = c->next;
	job->arrival = j->at;
	job->deadline = j->deadline;
	job->eligible = j->at;
	if (t->task.cls != CR_BE && j->deadline != CR_NEVER)
		job->eligible = j->deadline - t->task.rel_deadline;
	job->importance = j->importance;
	job->must_keep = false;
	return true;
}

static bool claim_recorded(struct core_task *t, uint64_t seq)
{
	struct audited_call *c = pick_call_of(t);

	c->next = seq + 1;
	return &c->a->r->replay.job[seq] == c->a->wanted &&
	       replay_is_turn(c->a->wanted);
}

static const struct core_backlog backlog = { .peek = peek_recorded,
					     .claim = claim_recorded };

/* --- the scheduler under audit --- */

static struct audited *audited_of(const struct cr_rq *rq)
{
	return CR_CONTAINER_OF(rq->sched->ops, struct audited, ops);
}

static const struct replay_job *job_of(const struct audit *a,
				       const struct cr_task *t)
{
	return &a->r->replay.job[t->job.seq];
}

/* Save the scheduler's state; @back: restore it. */
static void copy_state(struct audit *a, bool back)
{
	size_t n = audited_of(a->rq)->real->task_size;
	size_t of_rq = audited_of(a->rq)->real->rq_size;
	unsigned char *copy = a->saved;

	for (size_t i = 0; i < a->r->replay.ncalls; i++, copy += n) {
		unsigned char *state = a->call[i].task.task.priv;

		memcpy(back ? state : copy, back ? copy : state, n);
	}
	memcpy(back ? a->rq->priv : copy, back ? copy : a->rq->priv, of_rq);
	if (back) {
		a->rq->next_tick = a->next_tick;
		a->rq->kick = a->kick;
	} else {
		a->next_tick = a->rq->next_tick;
		a->kick = a->rq->kick;
	}
}

/* Let @only run and no other call; NULL: all again. */
static void allow_only(struct audit *a, const struct audited_call *only)
{
	for (size_t i = 0; i < a->r->replay.ncalls; i++)
		for (size_t w = 0; w < CR_MAX_CPUS / 64; w++)
			a->call[i].task.task.cpus.word[w] =
				!only || &a->call[i] == only ? UINT64_MAX : 0;
}

/* Ask the scheduler. Its answer is right if the live run took that frame, or
 * had lost it before the one that it took. After a wrong answer restore the
 * scheduler's state and let only the live call run. */
static struct cr_task *pick_audited(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct audited *s = audited_of(rq);
	struct audit *a = s->a;
	struct audited_call *live = &a->call[a->wanted->call];
	struct cr_task *t;

	copy_state(a, false);
	a->looks_left -= a->looks_left < a->r->replay.ncalls
				 ? a->looks_left
				 : a->r->replay.ncalls;
	t = s->real->pick(rq, cpu, now);
	if (t && job_of(a, t) == a->wanted && !a->wrong)
		return t;
	if (t && (given_up_by(job_of(a, t), now) ||
		  job_of(a, t)->outcome == CR_OUT_OVERWRITTEN))
		return t;
	a->wrong = true;
	copy_state(a, true);
	if (live->task.task.state == CR_QUEUED) {
		allow_only(a, live);
		t = s->real->pick(rq, cpu, now);
		allow_only(a, NULL);
		if (t == &live->task.task)
			return t;
		copy_state(a, true);
	}
	rq->next_tick = now + 1; /* nothing for now */
	return NULL;
}

/* --- without an audit: the live picks are followed --- */

static void follow_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			   cr_ns now)
{
	(void)rq, (void)t, (void)why, (void)now;
}

static void follow_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)rq, (void)t, (void)now;
}

static void follow_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
			cr_ns ran, enum cr_stop why, cr_ns now)
{
	(void)rq, (void)cpu, (void)t, (void)ran, (void)why, (void)now;
}

static struct cr_task *follow_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct audit *a = audited_of(rq)->a;
	struct cr_task *t = &a->call[a->wanted->call].task.task;

	(void)cpu;
	rq->next_tick = now + 1; /* it may keep a worker idle */
	return t->state == CR_QUEUED &&
			       t->job.seq <=
				       (uint64_t)(a->wanted - a->r->replay.job)
		       ? t
		       : NULL;
}

static const struct cr_sched_ops follow = {
	.abi = CR_SCHED_ABI,
	.name = "follow",
	.help = "what the live run did",
	.enqueue = follow_enqueue,
	.dequeue = follow_dequeue,
	.pick = follow_pick,
	.stop = follow_stop,
};

/* --- a turn --- */

static bool is_audited(const struct audit *a)
{
	return a->audited[a->current].real != &follow;
}

static void end_recorded_turn(struct audit *a, const struct replay_job *j)
{
	const struct cr_task *now = a->rq->cpu[j->worker].running;
	cr_ns plausible = meter_plausible(&a->call[j->call].task.task.cost);
	cr_ns ran = j->charged ? j->charged : j->held;
	struct core_task *t;

	if (!now || job_of(a, now) != j)
		return;
	/* the live engine took off what its thread had no CPU for */
	if (!j->charged && plausible && ran > plausible)
		ran = plausible;
	t = core_stop(a->core, a->rq, j->worker, ran, CR_STOP_DONE, a->now);
	(void)core_again(a->core, t, a->now);
}

static void begin_recorded_turn(struct audit *a, const struct replay_job *j)
{
	struct audited_call *c = &a->call[j->call];
	const struct cr_task *before = a->rq->cpu[j->worker].running;
	struct core_fault fault;
	bool asked = is_audited(a);

	if (before) /* times of other workers may overlap */
		end_recorded_turn(a, job_of(a, before));
	if (c->task.task.state == CR_IDLE)
		(void)core_release(a->core, &c->task, a->now);
	a->wanted = j;
	a->wrong = false;
	(void)core_tick(a->core, a->rq, a->now);
	(void)core_pick(a->core, a->rq, j->worker, a->now);
	if (!asked)
		return;
	a->r->answer[j - a->r->replay.job] = a->wrong ? PICK_OTHER : PICK_SAME;
	if (core_take_fault(a->core, a->rq, &fault))
		a->looks_left = 0;
}

/* --- the other events --- */

static void join_call(struct audit *a, size_t i)
{
	const struct cr_trace_task *c = &a->r->call[i];
	const struct plan *p = &a->r->plan;
	struct audited_call *k = &a->call[i];
	const struct core_terms terms = {
		.cls = (enum cr_class)c->cls,
		.rel_deadline = c->rel_deadline,
		.cost = { c->cost_mean, c->cost_p99, 0 },
		.nice = c->nice,
		.weight = c->weight,
	};

	core_set_terms(&k->task.task, &terms);
	k->task.task.id = a->r->replay.id[i];
	k->task.task.period = p->campaign->flows[a->r->flow[i]].ptime;
	k->task.backlog = &backlog;
	k->a = a;
	k->next = a->r->replay.first[i];
	k->end = a->r->replay.first[i + 1];
	k->joined = true;
	core_add(a->core, &k->task, 0, a->now);
}

static int switch_asked_to(struct audit *a, const struct cr_sched_ops *ops,
			   const char *opts, struct cr_err *e)
{
	struct audited *to = &a->audited[!a->current];
	size_t size = a->r->replay.ncalls * ops->task_size + ops->rq_size + 1;
	unsigned char *saved = realloc(a->saved, size);
	struct core_switch *sw;
	int rc;

	if (!saved)
		return cr_fail(e, -ENOMEM, "out of memory for the live picks");
	a->saved = saved;
	*to = (struct audited){ .ops = *ops, .real = ops, .a = a };
	to->ops.pick = ops == &follow ? follow_pick : pick_audited;
	rc = core_switch_prepare(&sw, a->core, core_ntasks(a->core, a->rq),
				 &to->ops, opts, e);
	if (rc)
		return rc;
	rc = core_switch_commit(sw, a->now, e);
	core_switch_finish(sw);
	a->current = rc ? a->current : !a->current;
	a->looks_left = LOOKS_PER_STRETCH;
	return rc;
}

static int handle_event(struct audit *a, const struct event *ev,
			struct cr_err *e)
{
	const struct replay_job *j = &a->r->replay.job[ev->index];
	unsigned cpu = 0;

	a->now = ev->at;
	switch (ev->kind) {
	case TURN_ENDS:
		end_recorded_turn(a, j);
		break;
	case CALL_JOINS:
		join_call(a, ev->index);
		break;
	case SWITCHES:
		return switch_asked_to(a, a->r->switches[ev->index].ops,
				       a->r->switches[ev->index].opts, e);
	case FRAME_COMES:
		if (a->call[j->call].task.task.state == CR_IDLE)
			(void)core_release(a->core, &a->call[j->call].task,
					   a->now);
		break;
	case GIVEN_UP:
		/* a scheduler under audit gives frames up by its own picks */
		while (cpu < a->rq->ncpu && a->rq->cpu[cpu].running)
			cpu++;
		if (is_audited(a) || cpu == a->rq->ncpu)
			break;
		a->wanted = j;
		(void)core_pick(a->core, a->rq, cpu, a->now);
		break;
	case TURN_BEGINS:
		begin_recorded_turn(a, j);
		break;
	}
	return a->looks_left || !is_audited(a)
		       ? 0
		       : switch_asked_to(a, &follow, "", e);
}

/* --- all of them --- */

static int compare_pick_times(const void *x, const void *y)
{
	const struct event *a = x, *b = y;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static void add_event(struct audit *a, cr_ns at, enum event_kind kind,
		      size_t index)
{
	a->event[a->nevents++] =
		(struct event){ cr_ns_max(at, 0), kind, index };
}

static void list_events(struct audit *a)
{
	const struct replay *p = &a->r->replay;

	for (size_t i = 0; i < p->ncalls; i++)
		add_event(a,
			  cr_ns_min(a->r->call[i].start - p->begin,
				    p->job[p->first[i]].at),
			  CALL_JOINS, i);
	for (size_t i = 0; i < a->r->nworked; i++)
		add_event(a, a->r->switches[i].at, SWITCHES, i);
	for (size_t i = 0; i < p->njobs; i++) {
		const struct replay_job *j = &p->job[i];

		if (j->known)
			add_event(a, j->release, FRAME_COMES, i);
		else if (j->outcome == CR_OUT_OVERWRITTEN)
			add_event(a, came_at(j), FRAME_COMES, i);
		if (given_up_by(j, CR_NEVER))
			add_event(a, j->pick, GIVEN_UP, i);
		if (replay_is_turn(j)) {
			add_event(a, j->pick, TURN_BEGINS, i);
			add_event(a, j->pick + j->held, TURN_ENDS, i);
		}
	}
	qsort(a->event, a->nevents, sizeof(*a->event), compare_pick_times);
}

static int open_audit(struct audit *a, struct cr_err *e)
{
	const struct replay *p = &a->r->replay;
	struct core_config cfg = {
		.ops = &a->audited[0].ops,
		.ncpu = (unsigned)a->r->campaign->platform.cpus,
		.lenient = true,
	};
	int rc;

	a->audited[0] =
		(struct audited){ .ops = follow, .real = &follow, .a = a };
	a->r->answer = calloc(p->njobs, sizeof(*a->r->answer));
	a->event = malloc((3 * p->njobs + p->ncalls + a->r->nworked) *
			  sizeof(*a->event));
	a->call = aligned_alloc(_Alignof(struct audited_call),
				p->ncalls * sizeof(*a->call));
	if (!a->r->answer || !a->event || !a->call)
		return cr_fail(e, -ENOMEM, "out of memory for the live picks");
	memset(a->call, 0, p->ncalls * sizeof(*a->call));
	allow_only(a, NULL);
	rc = core_open(&a->core, &cfg, 0, e);
	if (!rc)
		a->rq = core_rq(a->core, 0);
	return rc;
}

int picks_ask(struct recording *r, struct cr_err *e)
{
	struct audit a = { .r = r };
	int rc;

	if (r->imported || !r->switches ||
	    r->campaign->platform.run_queues != 1 ||
	    r->campaign->platform.cpus != r->workers)
		return 0;
	rc = open_audit(&a, e);
	if (!rc)
		list_events(&a);
	for (size_t i = 0; i < a.nevents && !rc; i++)
		rc = handle_event(&a, &a.event[i], e);
	for (unsigned w = 0; a.core && w < a.rq->ncpu; w++)
		if (a.rq->cpu[w].running)
			(void)core_stop(a.core, a.rq, w, 0, CR_STOP_DONE,
					a.now);
	for (size_t i = 0; a.core && i < a.r->replay.ncalls; i++)
		if (a.call[i].joined)
			core_del(a.core, &a.call[i].task, a.now);
	core_close(a.core);
	free(a.call);
	free(a.event);
	free(a.saved);
	if (rc) {
		free(r->answer);
		r->answer = NULL;
	}
	return rc;
}

/* --- both runs, compared --- */

/* Frames of one kind, and what became of them. */
struct became {
	size_t frames, lost;
	cr_ns p50, p99;
};

static bool same_scheduler(const char *recorded, const char *scheduler)
{
	size_t name = strcspn(recorded, ",");
	char options[96], wanted[96];
	char *save = NULL;

	if (name != strcspn(scheduler, ",") ||
	    strncmp(recorded, scheduler, name) != 0)
		return false;
	/* recorded are all options, given are those that differ */
	(void)snprintf(options, sizeof(options), "%s,", recorded + name);
	(void)snprintf(wanted, sizeof(wanted), "%s", scheduler + name);
	for (char *o = strtok_r(wanted, ",", &save); o;
	     o = strtok_r(NULL, ",", &save)) {
		char one[100];

		(void)snprintf(one, sizeof(one), ",%s,", o);
		if (!strstr(options, one))
			return false;
	}
	return true;
}

/* The outcomes of frames while @scheduler was in use in the live run; else of
 * all frames. */
static const struct replayed_job *replayed_of(const struct recording *r,
					      const char *scheduler)
{
	return scheduler && r->own ? r->own : r->replayed.job;
}

/* The last one that has begun by @at; NULL: none. */
static const struct recording_stretch *stretch_at(const struct recording *r,
						  cr_ns at)
{
	unsigned low = 0, high = r->nstretches;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (r->stretch[middle].from <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &r->stretch[low - 1] : NULL;
}

/* Did it come in time that is compared: in that of @scheduler; NULL: of any? */
static bool is_compared(const struct recording *r, size_t i,
			const char *scheduler)
{
	const struct replay_job *j = &r->replay.job[i];
	const struct recording_stretch *s;

	if (j->outcome == CR_OUT_CANCELLED ||
	    replayed_of(r, scheduler)[i].outcome == CR_OUT_CANCELLED)
		return false;
	s = stretch_at(r, j->at);
	return s && j->at < s->to &&
	       (!scheduler || same_scheduler(s->scheduler, scheduler));
}

static bool was_lost(uint8_t outcome)
{
	return outcome != CR_OUT_DONE && outcome != CR_OUT_SEND_FAILED &&
	       outcome != CR_OUT_BAD;
}

static struct became sum_frames(const struct recording *r,
				const char *scheduler, bool live)
{
	cr_ns *delay = malloc(r->replay.njobs * sizeof(*delay));
	struct became b = { 0 };
	size_t n = 0;

	for (size_t i = 0; delay && i < r->replay.njobs; i++) {
		const struct replay_job *j = &r->replay.job[i];
		const struct replayed_job *now = &replayed_of(r, scheduler)[i];

		if (!is_compared(r, i, scheduler))
			continue;
		b.frames++;
		b.lost += was_lost(live ? j->outcome : now->outcome);
		if (!was_lost(live ? j->outcome : now->outcome))
			delay[n++] =
				(live ? replay_sent(j) : now->sent) - j->at;
	}
	b.p50 = delay ? worker_time_quantile(delay, n, 50) : 0;
	b.p99 = delay ? worker_time_quantile(delay, n, 99) : 0;
	free(delay);
	return b;
}

struct picked {
	cr_ns live, now;
};

static int by_live(const void *a, const void *b)
{
	const struct picked *x = a, *y = b;

	if (x->live != y->live)
		return x->live < y->live ? -1 : 1;
	return (x->now > y->now) - (x->now < y->now);
}

/* The longest row of picks that both have in the same order. @last: as large
 * as @p. */
static size_t longest_row(struct picked *p, size_t n, cr_ns *last)
{
	size_t row = 0;

	if (n)
		qsort(p, n, sizeof(*p), by_live);
	for (size_t i = 0; i < n; i++) {
		size_t low = 0, high = row;

		while (low < high) {
			size_t middle = (low + high) / 2;

			if (last[middle] < p[i].now)
				low = middle + 1;
			else
				high = middle;
		}
		last[low] = p[i].now;
		row += low == row;
	}
	return row;
}

/* Of the picks of whichever has more, the share that both have in the same
 * order; -1: there is none. */
static double same_picks(const struct recording *r, const char *scheduler)
{
	struct picked *p = malloc(r->replay.njobs * sizeof(*p));
	cr_ns *last = malloc(r->replay.njobs * sizeof(*last));
	size_t n = 0, live = 0, now = 0, most;
	double same = -1;

	for (size_t i = 0; p && last && i < r->replay.njobs; i++) {
		const struct replay_job *j = &r->replay.job[i];
		cr_ns again = replayed_of(r, scheduler)[i].pick;

		if (!is_compared(r, i, scheduler))
			continue;
		live += replay_is_turn(j);
		now += again != CR_NEVER;
		if (replay_is_turn(j) && again != CR_NEVER)
			p[n++] = (struct picked){ j->pick, again };
	}
	most = live > now ? live : now;
	if (most)
		same = (double)longest_row(p, n, last) / (double)most;
	free(p);
	free(last);
	return same;
}

/* Live picks in the time of a scheduler. */
struct answers {
	size_t picks, asked; /* the first of each time it was at work */
	double same;	     /* share of @asked: it makes them again from the
				same queue */
};

static struct answers count_answers(const struct recording *r,
				    const char *scheduler)
{
	struct answers a = { 0 };
	size_t same = 0;

	for (size_t i = 0; r->answer && i < r->replay.njobs; i++) {
		if (!replay_is_turn(&r->replay.job[i]) ||
		    !is_compared(r, i, scheduler))
			continue;
		a.picks++;
		a.asked += r->answer[i] != PICK_UNKNOWN;
		same += r->answer[i] == PICK_SAME;
	}
	a.same = a.asked ? (double)same / (double)a.asked : 0;
	return a;
}

static double loss_of(const struct became *b)
{
	return b->frames ? (double)b->lost / (double)b->frames : 0;
}

static json_t *became_json(const struct became *b)
{
	if (!b->frames)
		return json_null();
	return json_pack("{s:I,s:I,s:f,s:I,s:I}", "frames",
			 (json_int_t)b->frames, "lost", (json_int_t)b->lost,
			 "loss", loss_of(b), "p50_ns", (json_int_t)b->p50,
			 "p99_ns", (json_int_t)b->p99);
}

json_t *agreement_json(const struct recording *r, const char *scheduler)
{
	const struct recording_overheads *o = &r->overheads;
	struct became live = sum_frames(r, scheduler, true);
	struct became own = sum_frames(r, scheduler, false);
	struct became all = sum_frames(r, NULL, false);
	double same = same_picks(r, scheduler);
	struct answers from_queue = count_answers(r, scheduler);
	json_t *overheads = json_pack(
		"{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "turns",
		(json_int_t)o->turns, "median_ns", (json_int_t)o->median,
		"p99_ns", (json_int_t)o->p99, "mean_ns", (json_int_t)o->mean,
		"context_ns", (json_int_t)o->context, "in_row",
		(json_int_t)o->in_row, "wakes", (json_int_t)o->wakes,
		"wake_median_ns", (json_int_t)o->wake_median, "wake_p99_ns",
		(json_int_t)o->wake_p99, "drawn", (json_int_t)o->drawn,
		"stolen", (json_int_t)o->stolen, "stolen_ns",
		(json_int_t)o->stolen_sum);

	return json_pack(
		"{s:s,s:b,s:I,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:I}", "trace",
		r->path, "blocks", (int)r->blocks, "changes",
		(json_int_t)r->changes, "lost_records", (json_int_t)r->lost,
		"overheads", overheads, "live", became_json(&live), "own",
		became_json(&own), "all", became_json(&all), "same_picks",
		same < 0 ? json_null() : json_real(same), "same_queue",
		from_queue.asked ? json_real(from_queue.same) : json_null(),
		"same_queue_asked", (json_int_t)from_queue.asked,
		"same_queue_picks", (json_int_t)from_queue.picks);
}

static void became_line(FILE *f, const char *name, const struct became *b)
{
	(void)fprintf(f, "  %-26s %9zu %8.2f%% %9.3f %9.3f\n", name, b->frames,
		      100 * loss_of(b), (double)b->p50 / 1e6,
		      (double)b->p99 / 1e6);
}

bool agreement_has(const struct recording *r, const char *scheduler)
{
	for (unsigned i = 0; i < r->nstretches; i++)
		if (same_scheduler(r->stretch[i].scheduler, scheduler))
			return true;
	return false;
}

void agreement_report(const struct recording *r, const char *scheduler, FILE *f)
{
	struct became live = sum_frames(r, scheduler, true);
	struct became own = sum_frames(r, scheduler, false);
	struct became all = sum_frames(r, NULL, false);
	struct answers from_queue = count_answers(r, scheduler);

	if (r->imported)
		return;
	(void)fprintf(f, "  %-26s %9s %9s %9s %9s\n",
		      "recorded and played again", "frames", "lost", "p50 ms",
		      "p99 ms");
	if (live.frames) {
		became_line(f, "live, its own time", &live);
		became_line(f, "again, its own time", &own);
	}
	if (all.frames != own.frames)
		became_line(f, "again, all of the time", &all);
	if (live.frames)
		(void)fprintf(f, "  %.1f %% of the picks in the same order\n",
			      100 * same_picks(r, scheduler));
	if (from_queue.asked)
		(void)fprintf(f,
			      "  %.1f %% of the live picks from the same queue "
			      "(of the first %zu of %zu picks)\n",
			      100 * from_queue.same, from_queue.asked,
			      from_queue.picks);
}
