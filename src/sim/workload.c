/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call in the simulator:
 *
 *   arrive -> release model -> backlog -> claim -> cost -> done
 *                                 |         |              |
 *                              dropped    shed      statistics, trace
 *
 * With receivers, what arrives has been received (receivers.h).
 */
#include "sim/workload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "sim/call_trace.h"
#include "sim/declared.h"
#include "sim/outcome.h"
#include "sim/receivers.h"

/* Frames that may wait in a flow with codecs: codec-runner's default. */
#define LIVE_RING 8u

static struct sim_call *call_of(struct core_task *t)
{
	return (struct sim_call *)(void *)((unsigned char *)t -
					   offsetof(struct sim_call, st.core));
}

/* --- arrivals --- */

static void describe(const struct backlog_entry *e, struct cr_job *job)
{
	job->seq = e->frame;
	job->arrival = e->arrival;
	job->eligible = e->eligible;
	job->deadline = e->deadline;
}

/* The job of the trace that @frame of @c is, if it is of a recorded run. */
static const struct replay_job *recorded(const struct sim_call *c,
					 uint64_t frame)
{
	return c->part->w->replayed ? &c->arrival.replay[frame] : NULL;
}

/* Of the frame in front of the backlog: voices are heard in order, and nobody
 * hears what never came. */
static void describe_first(struct sim_call *c, const struct backlog_entry *e,
			   struct cr_job *job)
{
	describe(e, job);
	job->must_keep = backlog_must_keep(e);
	if (c->voice)
		job->importance = job->must_keep ? CR_IMPORTANCE_UNKNOWN
						 : voice_at(c->voice, e->frame);
	else if (c->part->w->replayed)
		job->importance = recorded(c, e->frame)->importance;
}

/* The oldest of a full backlog. */
static void overwritten(struct sim_call *c, const struct backlog_entry *e,
			cr_ns now)
{
	struct cr_job lost = { 0 };

	describe_first(c, e, &lost);
	outcome_undone(c, &lost, backlog_waited(e), CR_OUT_OVERWRITTEN, now);
}

static void job_comes(struct sim_call *c, const struct arrival_job *j,
		      cr_ns waited, cr_ns now)
{
	struct release_times t = release_arrival(&c->release, j->at);
	struct backlog_entry e = { .frame = j->frame,
				   .arrival = j->at,
				   .eligible = t.eligible,
				   .deadline = t.deadline,
				   .waited = waited };
	struct backlog_entry dropped = { 0 };
	int rc;

	if (c->flow->terms.cls == CR_BE)
		e.deadline = CR_NEVER;
	rc = backlog_put(&c->backlog, &e, &dropped);
	c->part->failed |= rc < 0;
	c->stats->jobs += rc >= 0;
	c->sum.jobs += rc >= 0;
	if (rc > 0)
		overwritten(c, &dropped, now);
}

cr_ns workload_look_ahead(struct sim_call *c)
{
	if (!arrival_next(&c->arrival, &c->next) ||
	    c->next.at >= c->part->w->end)
		c->next.at = CR_NEVER;
	return c->next.at;
}

/* A packet that never became a job. */
static void count_packet(struct sim_call *c, const struct backlog_entry *e,
			 enum cr_outcome why, cr_ns now)
{
	struct cr_job job = { 0 };

	describe(e, &job);
	job.eligible = e->arrival;
	job.deadline = cr_ns_add(e->arrival, c->st.core.task.rel_deadline);
	if (c->flow->terms.cls == CR_BE)
		job.deadline = CR_NEVER;
	c->stats->jobs++;
	c->sum.jobs++;
	outcome_undone(c, &job, e->waited, why, now);
}

/* One of the inbox. */
static void count_unreceived(struct sim_call *c, const struct backlog_entry *e,
			     enum cr_outcome why, cr_ns now)
{
	struct backlog_entry packet = *e;

	packet.waited = 0;
	count_packet(c, &packet, why, now);
}

/* A packet is there: a job, or for the jitter buffer. */
static void packet_comes(struct sim_call *c, const struct arrival_job *p,
			 cr_ns now)
{
	const struct backlog_entry e = { .frame = p->frame, .arrival = p->at };

	if (!c->buffer)
		job_comes(c, p, p->waited, now);
	else if (!play_buffer_put(c->buffer, p->frame, p->seq, p->at, now))
		count_packet(c, &e, CR_OUT_UNBUFFERED, now);
}

/* What the jitter buffer has dropped. */
static void unbuffered(void *arg, const struct play_frame *f)
{
	struct sim_call *c = arg;
	const struct backlog_entry e = { .frame = f->frame,
					 .arrival = f->arrival,
					 .waited = f->waited };

	count_packet(c, &e, c->here ? CR_OUT_UNBUFFERED : CR_OUT_CANCELLED,
		     f->arrival + f->waited);
}

static bool is_over(const struct sim_call *c)
{
	return c->next.at == CR_NEVER && !play_buffer_waits(c->buffer) &&
	       !(c->inbox && backlog_head(c->inbox));
}

/* What the jitter buffer plays is a job from now on; and what it conceals, but
 * for that which would follow the call. */
static void play(struct sim_call *c, cr_ns now)
{
	struct play_frame f;

	while (play_buffer_next(c->buffer, now, &f)) {
		const struct arrival_job j = { .at = now, .frame = f.frame };

		if (f.concealed && is_over(c))
			continue;
		c->stats->concealed += f.concealed;
		job_comes(c, &j, f.concealed ? BACKLOG_CONCEALED : f.waited,
			  now);
	}
}

/* The receiver has done with what is in front of the inbox. */
static void arrive_received(struct sim_call *c, cr_ns now)
{
	const struct backlog_entry *e;

	while ((e = backlog_head(c->inbox)) && receivers_due(e) <= now) {
		if (receivers_dropped(e))
			count_unreceived(c, e, CR_OUT_UNRECEIVED, e->arrival);
		else
			packet_comes(c,
				     &(struct arrival_job){ .at = e->arrival,
							    .frame = e->frame,
							    .seq = e->seq },
				     now);
		backlog_drop(c->inbox);
	}
}

cr_ns workload_due(const struct sim_call *c)
{
	const struct backlog_entry *e =
		c->inbox ? backlog_head(c->inbox) : NULL;
	cr_ns due = e ? receivers_due(e) : CR_NEVER;

	return c->buffer ? cr_ns_min(due, play_buffer_due(c->buffer)) : due;
}

/* When what comes next is a job. */
static cr_ns next_due(const struct sim_call *c)
{
	return cr_ns_add(c->next.at, c->next.received);
}

static cr_ns arrive(void *arg, struct sim_task *t, cr_ns now)
{
	struct sim_call *c = call_of(&t->core);
	cr_ns next = CR_NEVER;

	(void)arg;
	if (c->inbox) {
		arrive_received(c, now);
	} else {
		while (next_due(c) <= now) {
			packet_comes(c, &c->next, now);
			(void)workload_look_ahead(c);
		}
		next = next_due(c);
	}
	if (c->buffer)
		play(c, now);
	if (c->inbox || c->buffer)
		next = cr_ns_min(next, workload_due(c));
	return next;
}

/* --- the backlog as the core sees it --- */

/* What was shed takes no logical time from the jobs behind it. */
static void count_served(struct sim_call *c)
{
	if (c->uncounted == CR_NEVER)
		return;
	(void)release_arrival(c->served, c->uncounted);
	c->uncounted = CR_NEVER;
}

static bool peek(struct core_task *t, struct cr_job *job)
{
	struct sim_call *c = call_of(t);
	const struct backlog_entry *e = backlog_head(&c->backlog);
	struct release_times when;

	if (!e)
		return false;
	describe_first(c, e, job);
	if (!c->served)
		return true;
	count_served(c);
	when = release_next(c->served, e->arrival);
	job->eligible = when.eligible;
	if (c->flow->terms.cls != CR_BE)
		job->deadline = when.deadline;
	return true;
}

static bool claim(struct core_task *t, uint64_t seq)
{
	struct sim_call *c = call_of(t);
	const struct backlog_entry *e = backlog_head(&c->backlog);

	if (!e || e->frame != seq)
		return false;
	if (c->served)
		c->uncounted = e->arrival;
	c->waited = backlog_waited(e);
	backlog_drop(&c->backlog);
	return true;
}

static void shed(struct core_task *t, const struct cr_job *job,
		 enum cr_outcome why, cr_ns now)
{
	call_of(t)->uncounted = CR_NEVER;
	outcome_undone(call_of(t), job, call_of(t)->waited, why, now);
}

/* Of what @c's worker does from @at on, for @cost. */
static cr_ns stolen_from(const struct sim_call *c, cr_ns at, cr_ns cost)
{
	const struct replayed *r = c->part->w->replayed;

	return replay_stolen(r, c->st.rq * r->per_rq + (unsigned)c->st.cpu, at,
			     cost);
}

static cr_ns cost(void *arg, struct sim_task *t)
{
	struct sim_call *c = call_of(&t->core);

	(void)arg;
	/* a trace's costs are its frames', whichever are dropped here */
	c->draws.next = (size_t)c->st.core.task.job.seq;
	c->total = cost_model_after(
		c->cost, cost_model_draw(c->cost, &c->draws), t->others);
	if (!c->part->w->replayed)
		return c->total;
	t->stolen = stolen_from(c, c->st.first, c->total);
	c->total += t->stolen;
	t->stolen += recorded(c, c->st.core.task.job.seq)->uncharged;
	return c->total;
}

/* A recorded turn goes on after its frame was sent, or ended before that, where
 * packets were gathered. */
static cr_ns sent_at(const struct sim_call *c, const struct cr_job *job,
		     cr_ns now)
{
	const struct replay_job *r = recorded(c, job->seq);

	if (!r)
		return now;
	if (r->rest < 0)
		return now - r->rest + stolen_from(c, now, -r->rest);
	return cr_ns_max(now - r->rest, job->arrival);
}

/* The closed model: a process that ends late does not sleep, it goes on. */
static void close_loop(struct sim_call *c, cr_ns now)
{
	bool at_once =
		arrival_done(&c->arrival, c->st.core.task.job.arrival, now);

	if (workload_look_ahead(c) == CR_NEVER)
		return;
	if (at_once) {
		job_comes(c, &c->next, 0, now);
		c->next.at = CR_NEVER;
	} else {
		sim_arrive_at(c->part->w->sim, &c->st, c->next.at);
	}
}

static void done(void *arg, struct sim_task *t, unsigned cpu, cr_ns now)
{
	struct sim_call *c = call_of(&t->core);
	const struct cr_job *job = &t->core.task.job;
	cr_ns sent = sent_at(c, job, now);

	(void)arg;
	outcome_done(c, job, sent);
	if (c->part->w->trace)
		call_trace_done(c, job, cpu, sent);
	if (c->flow->arrival.kind == ARRIVAL_CLOSED)
		close_loop(c, now);
}

static void gone(void *arg, struct sim_task *t)
{
	(void)arg;
	call_of(&t->core)->here = false;
}

/* The first one, whichever thread comes first. */
static void faulty(void *arg, const struct core_fault *fault, cr_ns now)
{
	struct workload *w = arg;
	struct workload_fault *first = &w->fault;

	(void)pthread_mutex_lock(&w->fault_lock);
	if (!first->count++ || now < first->at ||
	    (now == first->at && fault->rq < first->what.rq)) {
		first->at = now;
		first->what = *fault;
	}
	(void)pthread_mutex_unlock(&w->fault_lock);
}

struct sim_client workload_client(struct workload *w)
{
	return (struct sim_client){
		.arg = w,
		.backlog = { peek, claim, shed },
		.arrive = arrive,
		.cost = cost,
		.done = done,
		.gone = gone,
		.faulty = faulty,
		.lines = WORKLOAD_LINES,
	};
}

/* --- a call's life --- */

static void fill_task(struct sim_call *c, uint32_t id)
{
	const struct campaign_flow *f = c->flow;
	const struct core_terms declared = declare(f, c->cost);
	struct cr_task *t = &c->st.core.task;

	t->id = id;
	t->period = f->ptime;
	core_set_terms(t, &declared);
	memset(&t->cpus, 0xff, sizeof(t->cpus));
}

/* What is dropped takes no logical time from what is served. */
static int set_up_release(struct sim_call *c)
{
	struct release_cfg cfg = declared_release(c->flow);
	int rc;

	c->uncounted = CR_NEVER;
	if (c->backlog.most) {
		c->served = calloc(1, sizeof(*c->served));
		if (!c->served)
			return -ENOMEM;
		rc = release_init(c->served, &cfg, NULL);
		CR_ASSERT(!rc); /* the campaign's loader has checked it */
		release_hold(&cfg, c->backlog.most);
	}
	rc = release_init(&c->release, &cfg, NULL);
	CR_ASSERT(!rc);
	return 0;
}

/* What it sounds like, and what the engine knows of that. */
static int set_up_voice(struct sim_call *c, const struct workload *w)
{
	const struct voice_model *m = &w->voices[c->plan->flow];

	if (!w->shed)
		return 0;
	c->st.core.shed = calloc(1, sizeof(*c->st.core.shed));
	if (!c->st.core.shed)
		return -ENOMEM;
	if (!voice_is_heard(m))
		return 0;
	c->voice = malloc(sizeof(*c->voice));
	if (!c->voice)
		return -ENOMEM;
	voice_init(c->voice, m, c->plan->seed);
	return 0;
}

static int set_up(struct sim_call *c, const struct workload *w, uint32_t id)
{
	const struct campaign_flow *f = c->flow;
	cr_ns samples = f->ptime / (125 * CR_US);
	int rc;

	c->draws = (struct cost_source){
		.random = random_fork(c->plan->seed, 4),
		.call = c->plan->index,
	};
	c->rtp_step = f->synthetic ? 1 : (uint32_t)samples;
	c->backlog.most = (uint32_t)f->ring;
	if (!f->ring && !f->synthetic)
		c->backlog.most = LIVE_RING;
	arrival_init(&c->arrival, w->plan, c->plan, &w->replays[c->plan->flow],
		     &c->model->stream);
	if (f->arrival.kind == ARRIVAL_ENVELOPE) {
		envelope_init(&c->model->envelope, f, c->cost, c->draws,
			      c->plan->start);
		arrival_send(&c->arrival, &c->model->envelope);
	}
	fill_task(c, id);
	rc = set_up_release(c);
	if (!rc)
		rc = set_up_voice(c, w);
	return rc ? rc : play_buffer_open(&c->buffer, f, unbuffered, c);
}

int workload_begin(struct workload *w, struct sim_call *c,
		   const struct plan_call *call, uint32_t id,
		   struct cr_verdict *v)
{
	int rc;

	c->plan = call;
	c->flow = &w->plan->campaign->flows[call->flow];
	c->cost = &w->costs[call->flow];
	rc = set_up(c, w, id);
	if (rc)
		return rc;
	rc = sim_add(w->sim, &c->st, v);
	if (rc)
		return rc;
	c->part = &w->part[sim_part_of(w->sim, &c->st)];
	c->stats = &c->part->stats[call->flow];
	c->here = c->sum.admitted = true;
	if (w->trace)
		call_trace_begin(c, sim_now(w->sim));
	(void)workload_look_ahead(c);
	if (w->receivers)
		return receivers_join(w->receivers, c);
	sim_arrive_at(w->sim, &c->st, next_due(c));
	return 0;
}

/* What the receiver has not done with when the call ends. */
static void leave_receiver(struct sim_call *c, cr_ns now)
{
	const struct backlog_entry *e;

	receivers_leave(c->part->w->receivers, c);
	while ((e = backlog_head(c->inbox))) {
		if (receivers_dropped(e))
			count_unreceived(c, e, CR_OUT_UNRECEIVED, e->arrival);
		else
			count_unreceived(c, e, CR_OUT_CANCELLED, now);
		backlog_drop(c->inbox);
	}
}

void workload_end(struct sim_call *c)
{
	bool running = c->st.core.task.state == CR_RUNNING;
	bool begun = c->st.started;
	struct cr_job job = c->st.core.task.job;
	struct sim *sim = c->part->w->sim;

	/* sheds what waits, and a job that was interrupted */
	sim_abandon(sim, &c->st);
	if (begun)
		c->stats->service += c->total - c->st.left;
	if (running)
		outcome_undone(c, &job, c->waited, CR_OUT_CANCELLED,
			       sim_now(sim));
	if (c->inbox)
		leave_receiver(c, sim_now(sim));
	c->here = false;
	if (c->buffer)
		play_buffer_end(c->buffer);
	c->stats->violations += c->release.violations;
	c->sum.violations = c->release.violations;
}

void workload_fini(struct sim_call *c)
{
	backlog_fini(&c->backlog);
	if (c->inbox)
		backlog_fini(c->inbox);
	play_buffer_close(c->buffer);
	c->buffer = NULL;
	free(c->served);
	c->served = NULL;
	free(c->voice);
	c->voice = NULL;
	free(c->st.core.shed);
	c->st.core.shed = NULL;
}
