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
#include "sim/arrival.h"
#include "sim/receivers.h"
#include "sim/simulation.h"

void flow_stats_merge(struct flow_stats *to, const struct flow_stats *from)
{
#define ADD(name, help) to->name += from->name;
	FLOW_COUNTS(ADD)
#undef ADD
	to->service += from->service;
	histogram_merge(&to->delay, &from->delay);
	histogram_merge(&to->buffered, &from->buffered);
	histogram_merge(&to->jitter, &from->jitter);
}

void flow_stats_add_call(struct flow_stats *to, const struct call_sum *c)
{
#define ADD(name, help) to->name += c->name;
	CALL_COUNTS(ADD)
#undef ADD
}

/*
 * What a trace says of a call; only for workloads that have one, which most
 * have not.
 */

/* Trace @r: at once, or when the workload_run() under way has ended. The
 * thread that serves @p. */
static void workload_trace(struct workload_part *p,
			   const union cr_trace_record *r)
{
	size_t room = p->room ? 2 * p->room : 256;
	union cr_trace_record *record;

	if (!p->w->running) {
		trace_file_put(p->w->cfg->trace, r);
		return;
	}
	if (p->records == p->room) {
		record = realloc(p->record, room * sizeof(*record));
		if (!record) {
			p->failed = true;
			return;
		}
		p->record = record;
		p->room = room;
	}
	p->record[p->records++] = *r;
}

/* In a trace, 0 means never. */
static int64_t trace_stamp(cr_ns t)
{
	return cr_ns_add(t, WORKLOAD_EPOCH);
}

static void put_record(struct sim_call *c, const struct cr_job *job,
		       struct cr_trace_job r)
{
	union cr_trace_record record;

	r.kind = CR_TRACE_JOB;
	r.task = c->st.core.task.id;
	r.seq = (uint32_t)job->seq;
	r.arrival = trace_stamp(job->arrival);
	r.deadline = trace_stamp(job->deadline);
	r.rtp_ts = (uint32_t)job->seq * c->rtp_step;
	if (c->part->w->cfg->replayed) {
		r.seq = c->arrival.replay[job->seq].seq;
		r.rtp_ts = c->arrival.replay[job->seq].rtp_ts;
	}
	r.importance = job->importance;
	memset(&record, 0, sizeof(record));
	record.job = r;
	workload_trace(c->part, &record);
}

/* @job of @c ended at @now on engine CPU @cpu. */
static void call_trace_done(struct sim_call *c, const struct cr_job *job,
			    unsigned cpu, cr_ns now)
{
	cr_ns first = c->st.first, codec = c->total;

	/* of a turn that was recorded as a whole, its codecs' part */
	if (c->part->w->cfg->replayed)
		codec = cr_ns_min(c->arrival.replay[job->seq].codec, codec);
	put_record(c, job,
		   (struct cr_trace_job){
			   .outcome = CR_OUT_DONE,
			   .worker = (uint16_t)cpu,
			   .release = trace_stamp(job->release),
			   .pick = trace_stamp(first),
			   .start = trace_stamp(first),
			   .end = trace_stamp(now),
			   .sent = trace_stamp(now),
			   /* it is sent before a recorded turn ends */
			   .away = cr_ns_max(now - first - job->ran, 0),
			   .buffered_ns = (uint32_t)c->waited,
			   .codec_ns = (uint32_t)cr_ns_min(codec, UINT32_MAX),
		   });
}

static void set_trace_text(char *to, size_t size, const char *text)
{
	size_t n = strlen(text);

	n = n < size ? n : size - 1;
	memcpy(to, text, n);
	to[n] = '\0';
}

/* @c joins at @now. */
static void call_trace_begin(const struct sim_call *c, cr_ns now)
{
	const struct cr_task *t = &c->st.core.task;
	const struct campaign_flow *f = c->flow;
	const struct codec_use *in = &f->in, *out = &f->out;
	union cr_trace_record r;
	cr_ns units = t->period / (250 * CR_US);

	memset(&r, 0, sizeof(r));
	if (c->part->w->cfg->replayed) {
		r.task = c->part->w->cfg->replays[c->plan->flow]
				 .recorded[c->plan->index];
		r.task.start = trace_stamp(now);
		workload_trace(c->part, &r);
		return;
	}
	r.task.kind = CR_TRACE_TASK;
	r.task.cls = (uint8_t)t->cls;
	/* 0, unknown: what the field cannot say */
	if (units <= UINT16_MAX && t->period % (250 * CR_US) == 0)
		r.task.ptime_us_div_250 = (uint16_t)units;
	r.task.task = t->id;
	r.task.start = trace_stamp(now);
	r.task.rel_deadline = t->rel_deadline;
	r.task.weight = t->weight;
	r.task.nice = (int8_t)t->nice;
	r.task.cost_mean = t->cost.mean;
	r.task.cost_p99 = t->cost.p99;
	set_trace_text(r.task.codec_in, sizeof(r.task.codec_in),
		       f->synthetic ? f->name : in->codec->name);
	set_trace_text(r.task.codec_out, sizeof(r.task.codec_out),
		       f->synthetic ? "synthetic" : out->codec->name);
	if (!f->synthetic) {
		set_trace_text(r.task.mode_in, sizeof(r.task.mode_in),
			       in->codec->modes[in->cfg.mode].name);
		set_trace_text(r.task.mode_out, sizeof(r.task.mode_out),
			       out->codec->modes[out->cfg.mode].name);
	}
	workload_trace(c->part, &r);
}

/*
 * Statistics of a simulated call's jobs.
 */

static void note_replayed(const struct sim_call *c, const struct cr_job *job,
			  struct replayed_job became)
{
	const struct replayed *r = c->part->w->cfg->replayed;

	if (r)
		r->job[&c->arrival.replay[job->seq] - r->first] = became;
}

/* @job of @c, which @waited in a jitter buffer, is not done: @why. It goes
 * into the trace, too. */
static void outcome_undone(struct sim_call *c, const struct cr_job *job,
			   cr_ns waited, enum cr_outcome why, cr_ns now)
{
	c->sum.overwritten += why == CR_OUT_OVERWRITTEN;
	c->sum.expired += why == CR_OUT_EXPIRED;
	c->sum.shed += why == CR_OUT_SHED;
	c->sum.left += why == CR_OUT_CANCELLED;
	c->sum.unreceived += why == CR_OUT_UNRECEIVED;
	c->sum.unbuffered += why == CR_OUT_UNBUFFERED;
	if (job->deadline <= c->part->w->cfg->duration) {
		c->stats->due++;
		c->sum.missed++;
	}
	note_replayed(
		c, job,
		(struct replayed_job){ CR_NEVER, CR_NEVER, (uint8_t)why });
	if (c->part->w->cfg->trace)
		put_record(
			c, job,
			(struct cr_trace_job){ .outcome = (uint8_t)why,
					       .buffered_ns = (uint32_t)waited,
					       .worker = UINT16_MAX,
					       .pick = trace_stamp(now) });
}

static void count_job_delay(struct sim_call *c, const struct cr_job *job,
			    cr_ns now)
{
	struct flow_stats *s = c->stats;
	bool late = now > job->deadline;
	cr_ns delay = now - job->arrival + c->waited;

	c->sum.late += late;
	if (job->deadline <= c->part->w->cfg->duration) {
		s->due++;
		c->sum.missed += late;
	}
	c->sum.delay += delay;
	c->sum.delay_max = cr_ns_max(c->sum.delay_max, delay);
	histogram_add(&s->delay, delay);
	if (c->buffer)
		histogram_add(&s->buffered, c->waited);
}

uint32_t workload_ring(const struct campaign_flow *f)
{
	/* of a flow with codecs: codec-runner's default */
	return f->ring || f->synthetic ? (uint32_t)f->ring : 8;
}

static struct sim_call *sim_call_of(struct core_task *t)
{
	return CR_CONTAINER_OF(t, struct sim_call, st.core);
}

/* --- arrivals --- */

/* Frames in a jitter buffer are RTP packets of this clock, Hz. */
#define BUFFER_CLOCK 48000

/* The payload of such a packet. */
struct buffered {
	uint64_t frame;
	cr_ns arrival;
	cr_ns received; /* it waits from here on */
};

static struct buffered read_buffered(const struct jitter_output *packet)
{
	struct buffered b;

	memcpy(&b, packet->payload, sizeof(b));
	return b;
}

static void describe_job(const struct backlog_entry *e, struct cr_job *job)
{
	job->seq = e->frame;
	job->arrival = e->arrival;
	job->eligible = e->eligible;
	job->deadline = e->deadline;
}

/* The job of the trace that @frame of @c is, if it is of a recorded run. */
static const struct replay_job *replay_of(const struct sim_call *c,
					  uint64_t frame)
{
	return c->part->w->cfg->replayed ? &c->arrival.replay[frame] : NULL;
}

/* Of the frame in front of the backlog: voices are heard in order, and nobody
 * hears what never came. */
static void describe_first(struct sim_call *c, const struct backlog_entry *e,
			   struct cr_job *job)
{
	describe_job(e, job);
	job->must_keep = backlog_must_keep(e);
	if (c->voice)
		job->importance = job->must_keep ? CR_IMPORTANCE_UNKNOWN
						 : voice_at(c->voice, e->frame);
	else if (c->part->w->cfg->replayed)
		job->importance = replay_of(c, e->frame)->importance;
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
	c->sum.jobs += rc >= 0;
	if (rc > 0) {
		struct cr_job lost = { 0 };

		describe_first(c, &dropped, &lost);
		outcome_undone(c, &lost, backlog_waited(&dropped),
			       CR_OUT_OVERWRITTEN, now);
	}
}

cr_ns workload_look_ahead(struct sim_call *c)
{
	if (!arrival_next(&c->arrival, &c->next) ||
	    c->next.at >= c->part->w->cfg->duration)
		c->next.at = CR_NEVER;
	return c->next.at;
}

/* A packet that never became a job. */
static void count_packet(struct sim_call *c, const struct backlog_entry *e,
			 enum cr_outcome why, cr_ns now)
{
	struct cr_job job = { 0 };

	describe_job(e, &job);
	job.eligible = e->arrival;
	job.deadline = cr_ns_add(e->arrival, c->st.core.task.rel_deadline);
	if (c->flow->terms.cls == CR_BE)
		job.deadline = CR_NEVER;
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

/* A packet is there, and @c has a jitter buffer. */
static void buffer_packet(struct sim_call *c, const struct arrival_job *p,
			  cr_ns now)
{
	const struct buffered b = { p->frame, p->at, now };
	const struct backlog_entry e = { .frame = p->frame, .arrival = p->at };
	/* rounded to the clock, without adding up */
	__int128 ts = (__int128)p->frame * c->flow->ptime;
	const struct rtp_packet packet = {
		.seq = (uint16_t)p->seq,
		.ts = (uint32_t)(ts * BUFFER_CLOCK / CR_SEC),
		.payload = (const uint8_t *)&b,
		.payload_bytes = sizeof(b),
	};
	const struct jitter_input in = {
		.rtp = &packet,
		.arrival = p->at,
		.duration = (uint32_t)(c->flow->ptime * BUFFER_CLOCK / CR_SEC),
	};

	c->buffered_at = now;
	if (jitter_put(c->buffer, &in) < 0)
		count_packet(c, &e, CR_OUT_UNBUFFERED, now);
}

/* A packet is there: a job, or for the jitter buffer. */
static void packet_comes(struct sim_call *c, const struct arrival_job *p,
			 cr_ns now)
{
	if (c->buffer)
		buffer_packet(c, p, now);
	else
		job_comes(c, p, p->waited, now);
}

/* The jitter buffer has dropped @packet. */
static void drop_unbuffered(void *arg, const struct jitter_output *packet)
{
	struct sim_call *c = arg;
	const struct buffered b = read_buffered(packet);
	const struct backlog_entry e = { .frame = b.frame,
					 .arrival = b.arrival,
					 .waited =
						 c->buffered_at - b.received };

	count_packet(c, &e, c->here ? CR_OUT_UNBUFFERED : CR_OUT_CANCELLED,
		     b.arrival + e.waited);
}

static int open_buffer(struct sim_call *c)
{
	const struct campaign_buffer *b = &c->flow->buffer;
	const struct jitter_cfg cfg = {
		.kind = (enum jitter_kind)b->kind,
		.least = b->least,
		.most = b->most,
		.clock = BUFFER_CLOCK,
		.slots = campaign_buffer_slots(b, c->flow->ptime),
		.slot_bytes = sizeof(struct buffered),
		.gone = drop_unbuffered,
		.arg = c,
	};
	int rc = b->kind == JITTER_OFF ? 0 : jitter_open(&c->buffer, &cfg, 0);

	CR_ASSERT(rc != -EINVAL); /* the campaign's loader has checked it */
	return rc;
}

/* Make jobs of the packets that the jitter buffer plays or conceals, but of
 * none behind the end of the call. */
static void play_due(struct sim_call *c, cr_ns now)
{
	struct jitter_output out;
	enum jitter_next next;

	while ((next = jitter_next(c->buffer, now, &out)) != JITTER_NOTHING) {
		struct arrival_job j = { .at = now, .frame = c->play_next };
		cr_ns waited = BACKLOG_CONCEALED;

		if (next == JITTER_PAUSE)
			continue;
		if (next != JITTER_CONCEAL) {
			const struct buffered b = read_buffered(&out);

			j.frame = b.frame;
			waited = now - b.received;
		}
		c->play_next = j.frame + 1;
		if (next == JITTER_CONCEAL && c->next.at == CR_NEVER &&
		    !jitter_waiting(c->buffer) &&
		    !(c->inbox && backlog_head(c->inbox)))
			continue;
		c->stats->concealed += next == JITTER_CONCEAL;
		job_comes(c, &j, waited, now);
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

	return c->buffer ? cr_ns_min(due, jitter_due(c->buffer)) : due;
}

/* When what comes next is a job. */
static cr_ns next_due(const struct sim_call *c)
{
	return cr_ns_add(c->next.at, c->next.received);
}

static cr_ns arrive_at_call(void *arg, struct sim_task *t, cr_ns now)
{
	struct sim_call *c = sim_call_of(&t->core);
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
		play_due(c, now);
	if (c->inbox || c->buffer)
		next = cr_ns_min(next, workload_due(c));
	return next;
}

/* --- the backlog as the core sees it --- */

static bool peek_backlog(struct core_task *t, struct cr_job *job)
{
	struct sim_call *c = sim_call_of(t);
	const struct backlog_entry *e = backlog_head(&c->backlog);
	struct release_times when;

	if (!e)
		return false;
	describe_first(c, e, job);
	if (!c->served)
		return true;
	/* not when it is claimed: what is shed then takes no logical time from
	 * the jobs behind it */
	if (c->claimed_arrival != CR_NEVER) {
		(void)release_arrival(c->served, c->claimed_arrival);
		c->claimed_arrival = CR_NEVER;
	}
	when = release_next(c->served, e->arrival);
	job->eligible = when.eligible;
	if (c->flow->terms.cls != CR_BE)
		job->deadline = when.deadline;
	return true;
}

static bool claim_backlog(struct core_task *t, uint64_t seq)
{
	struct sim_call *c = sim_call_of(t);
	const struct backlog_entry *e = backlog_head(&c->backlog);

	if (!e || e->frame != seq)
		return false;
	if (c->served)
		c->claimed_arrival = e->arrival;
	c->waited = backlog_waited(e);
	backlog_drop(&c->backlog);
	return true;
}

static void shed_from_backlog(struct core_task *t, const struct cr_job *job,
			      enum cr_outcome why, cr_ns now)
{
	sim_call_of(t)->claimed_arrival = CR_NEVER;
	outcome_undone(sim_call_of(t), job, sim_call_of(t)->waited, why, now);
}

/* Of what @c's worker does from @at on, for @cost. */
static cr_ns stolen_from(const struct sim_call *c, cr_ns at, cr_ns cost)
{
	const struct replayed *r = c->part->w->cfg->replayed;

	return replay_stolen(r, c->st.rq * r->per_rq + (unsigned)c->st.cpu, at,
			     cost);
}

static cr_ns draw_cost(void *arg, struct sim_task *t)
{
	struct sim_call *c = sim_call_of(&t->core);

	(void)arg;
	/* a trace's costs are its frames', whichever are dropped here */
	c->draws.next = (size_t)c->st.core.task.job.seq;
	c->total = cost_model_after(
		c->cost, cost_model_draw(c->cost, &c->draws), t->others);
	if (!c->part->w->cfg->replayed)
		return c->total;
	t->stolen = stolen_from(c, c->st.first, c->total);
	c->total += t->stolen;
	t->stolen += replay_of(c, c->st.core.task.job.seq)->uncharged;
	return c->total;
}

/* A recorded turn goes on after its frame was sent, or ended before that, where
 * packets were gathered. */
static cr_ns sent_when(const struct sim_call *c, const struct cr_job *job,
		       cr_ns now)
{
	const struct replay_job *r = replay_of(c, job->seq);

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

static void finish_job(void *arg, struct sim_task *t, unsigned cpu, cr_ns now)
{
	struct sim_call *c = sim_call_of(&t->core);
	const struct cr_job *job = &t->core.task.job;
	cr_ns sent = sent_when(c, job, now);
	struct flow_stats *s = c->stats;

	(void)arg;
	c->sum.done++;
	s->moves += c->st.moves;
	s->splits += c->st.splits;
	s->service += c->total;
	count_job_delay(c, job, sent);
	note_replayed(c, job,
		      (struct replayed_job){ c->st.first, sent, CR_OUT_DONE });
	if (c->worked && job->seq == c->last_frame + 1)
		histogram_add(&s->jitter,
			      llabs(sent - c->last_end - c->flow->ptime));
	c->worked = true;
	c->last_end = sent;
	c->last_frame = job->seq;
	c->part->jobs++;
	if (c->part->w->cfg->trace)
		call_trace_done(c, job, cpu, sent);
	if (c->flow->arrival.kind == ARRIVAL_CLOSED)
		close_loop(c, now);
}

static void leave_sim(void *arg, struct sim_task *t)
{
	(void)arg;
	sim_call_of(&t->core)->here = false;
}

/* The first one, whichever thread comes first. */
static void note_fault(void *arg, const struct core_fault *fault, cr_ns now)
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
		.backlog = { peek_backlog, claim_backlog, shed_from_backlog },
		.arrive = arrive_at_call,
		.cost = draw_cost,
		.done = finish_job,
		.gone = leave_sim,
		.faulty = note_fault,
		.lines = WORKLOAD_LINES,
	};
}

/* --- a call's life --- */

/* Set up the release model: dropped frames take no logical time from served
 * ones. */
static int set_up_release(struct sim_call *c)
{
	struct release_cfg cfg = declared_release(c->flow);
	int rc;

	c->claimed_arrival = CR_NEVER;
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

/* Set up the call's voice, and how much of it the engine knows. */
static int set_up_voice(struct sim_call *c, const struct workload *w)
{
	const struct voice_model *m = &w->cfg->voices[c->plan->flow];

	if (w->cfg->platform.shed == SHED_AGE)
		return 0;
	c->st.core.shed = calloc(1, sizeof(*c->st.core.shed));
	if (!c->st.core.shed)
		return -ENOMEM;
	if (!m->flow) /* nothing is known of its frames */
		return 0;
	c->voice = malloc(sizeof(*c->voice));
	if (!c->voice)
		return -ENOMEM;
	voice_init(c->voice, m, c->plan->seed);
	return 0;
}

static int set_up_call(struct sim_call *c, const struct workload *w,
		       uint32_t id)
{
	const struct campaign_flow *f = c->flow;
	const struct core_terms declared = declare(f, c->cost);
	struct cr_task *t = &c->st.core.task;
	cr_ns samples = f->ptime / (125 * CR_US);
	int rc;

	c->draws = (struct cost_source){
		.random = random_fork(c->plan->seed, 4),
		.call = c->plan->index,
	};
	c->rtp_step = f->synthetic ? 1 : (uint32_t)samples;
	c->backlog.most = workload_ring(f);
	arrival_init(&c->arrival, w->cfg->plan, c->plan,
		     &w->cfg->replays[c->plan->flow], &c->model->stream);
	if (f->arrival.kind == ARRIVAL_ENVELOPE) {
		envelope_init(&c->model->envelope, f, c->cost, c->draws,
			      c->plan->start);
		c->arrival.envelope = &c->model->envelope;
	}
	t->id = id;
	t->period = f->ptime;
	core_set_terms(t, &declared);
	memset(&t->cpus, 0xff, sizeof(t->cpus));
	rc = set_up_release(c);
	if (!rc)
		rc = set_up_voice(c, w);
	return rc ? rc : open_buffer(c);
}

int workload_begin(struct workload *w, struct sim_call *c,
		   const struct plan_call *call, uint32_t id,
		   struct cr_verdict *v)
{
	int rc;

	c->plan = call;
	c->flow = &w->cfg->plan->campaign->flows[call->flow];
	c->cost = &w->cfg->costs[call->flow];
	rc = set_up_call(c, w, id);
	if (rc)
		return rc;
	rc = sim_add(w->sim, &c->st, v);
	if (rc)
		return rc;
	c->part = &w->part[sim_part_of(w->sim, &c->st)];
	c->stats = &c->part->stats[call->flow];
	c->here = c->sum.admitted = true;
	if (w->cfg->trace)
		call_trace_begin(c, sim_now(w->sim));
	(void)workload_look_ahead(c);
	if (w->receivers)
		receivers_join(w->receivers, c);
	else
		sim_arrive_at(w->sim, &c->st, next_due(c));
	return 0;
}

void workload_end(struct sim_call *c)
{
	bool running = c->st.core.task.state == CR_RUNNING;
	bool begun = c->st.started;
	struct cr_job job = c->st.core.task.job;
	struct sim *sim = c->part->w->sim;
	const struct backlog_entry *e;

	/* sheds what waits, and a job that was interrupted */
	sim_abandon(sim, &c->st);
	if (begun)
		c->stats->service += c->total - c->st.left;
	if (running)
		outcome_undone(c, &job, c->waited, CR_OUT_CANCELLED,
			       sim_now(sim));
	/* what the receiver has not done with */
	if (c->inbox)
		receivers_leave(c->part->w->receivers, c);
	while (c->inbox && (e = backlog_head(c->inbox))) {
		if (receivers_dropped(e))
			count_unreceived(c, e, CR_OUT_UNRECEIVED, e->arrival);
		else
			count_unreceived(c, e, CR_OUT_CANCELLED, sim_now(sim));
		backlog_drop(c->inbox);
	}
	c->here = false;
	if (c->buffer)
		jitter_reset(c->buffer);
	c->sum.violations = c->release.violations;
}

void workload_fini(struct sim_call *c)
{
	backlog_fini(&c->backlog);
	if (c->inbox)
		backlog_fini(c->inbox);
	jitter_close(c->buffer);
	c->buffer = NULL;
	free(c->served);
	c->served = NULL;
	free(c->voice);
	c->voice = NULL;
	free(c->st.core.shed);
	c->st.core.shed = NULL;
}

/*
 * The parts of a workload. Sums are whole numbers: whatever the number of
 * parts and threads, they come to the same. Records are kept part by part while
 * time goes on and then written in the order of parts, which is that of run
 * queues.
 */

static unsigned flow_count(const struct workload *w)
{
	return w->cfg->plan->campaign->flow_count;
}

int workload_open(struct workload *w, struct sim *sim)
{
	unsigned n = sim_parts(sim);

	w->sim = sim;
	w->part = aligned_alloc(alignof(struct workload_part),
				n * sizeof(*w->part));
	if (!w->part)
		return -ENOMEM;
	memset(w->part, 0, n * sizeof(*w->part));
	for (unsigned i = 0; i < n; i++) {
		w->part[i].w = w;
		w->part[i].stats =
			calloc(flow_count(w), sizeof(struct flow_stats));
		if (!w->part[i].stats)
			return -ENOMEM;
	}
	return 0;
}

void workload_close(struct workload *w)
{
	for (unsigned i = 0; w->part && i < sim_parts(w->sim); i++) {
		free(w->part[i].stats);
		free(w->part[i].record);
	}
	free(w->part);
	w->part = NULL;
}

int workload_run(struct workload *w, cr_ns until)
{
	bool failed = false;
	unsigned n = sim_parts(w->sim);

	if (w->receivers && receivers_run(w->receivers, w->sim, until))
		return -ENOMEM;
	w->running = n > 1; /* a single part has the file to itself */
	sim_run(w->sim, until);
	w->running = false;
	for (unsigned i = 0; i < n; i++) {
		struct workload_part *p = &w->part[i];

		for (size_t k = 0; k < p->records; k++)
			trace_file_put(w->cfg->trace, &p->record[k]);
		p->records = 0;
		failed |= p->failed;
	}
	return failed ? -ENOMEM : 0;
}

uint64_t workload_jobs(const struct workload *w)
{
	uint64_t jobs = 0;

	for (unsigned i = 0; i < sim_parts(w->sim); i++)
		jobs += w->part[i].jobs;
	return jobs;
}

void workload_sum(const struct workload *w, unsigned flow,
		  struct flow_stats *to)
{
	for (unsigned i = 0; i < sim_parts(w->sim); i++)
		flow_stats_merge(to, &w->part[i].stats[flow]);
}
