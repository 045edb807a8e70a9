/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The course of a run:
 *
 *   encode speech -> connect, hello -> loads into counts -> plan
 *     -> threads, epoch -> every 10 ms: ask for calls that are near, stop
 *        those that are through -> bye -> sums
 */
#include "feeder/session.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "campaign/plan.h"
#include "feeder/dump.h"
#include "feeder/session_impl.h"
#include "udp/socket.h"

#define TICK (10 * CR_MS)

void session_fail(struct session *s, int code, const char *fmt, ...)
{
	va_list ap;

	if (!s->failed) {
		va_start(ap, fmt);
		(void)vsnprintf(s->why.text, sizeof(s->why.text), fmt, ap);
		va_end(ap);
		s->failed = code;
	}
	(void)event_base_loopbreak(s->base);
}

/* --- before the first call: speech, socket, connection, and from the daemon's
 * capacity and the campaign's loads the plan --- */

/* ---- speech ---- */

static void on_speech(void *arg, const char *phase, unsigned done,
		      unsigned total)
{
	struct session *s = arg;
	struct session_progress p = { .phase = phase,
				      .done = done,
				      .total = total };

	if (s->cfg.progress)
		s->cfg.progress(s->cfg.arg, &p);
}

static int open_sources(struct session *s, struct cr_err *e)
{
	const struct campaign *c = s->cfg.campaign;
	int rc = 0;

	for (unsigned f = 0; f < c->flow_count && !rc; f++) {
		struct source_cfg cfg = {
			.flow = &c->flows[f],
			.base = c->path,
			.seed = s->cfg.seed,
			.duration = s->cfg.duration,
			.progress = on_speech,
			.arg = s,
		};
		unsigned k = 0;

		while (k < f && !source_fits(&c->flows[k], &c->flows[f]))
			k++;
		if (k < f)
			s->sources[f] = s->sources[k];
		else
			rc = source_open(&s->sources[f], &cfg, e);
	}
	return rc;
}

/* ---- ports ---- */

/* Our address as the daemon will see it: what the kernel would use. */
static int find_local(struct session *s, struct sockaddr_storage *local,
		      struct cr_err *e)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM }, *ai = NULL;
	socklen_t n = sizeof(*local);
	int rc = getaddrinfo(s->cfg.to.host, "9", &hints, &ai);
	int fd = -1;

	if (rc)
		return cr_fail(e, -EHOSTUNREACH, "%s: %s", s->cfg.to.host,
			       gai_strerror(rc));
	fd = socket(ai->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, ai->ai_addr, ai->ai_addrlen) ||
	    getsockname(fd, (struct sockaddr *)local, &n))
		rc = cr_fail(e, -errno, "%s: %s", s->cfg.to.host,
			     strerror(errno));
	if (fd >= 0)
		(void)close(fd);
	freeaddrinfo(ai);
	address_set_port(local, 0);
	return rc;
}

/* ---- conversions ---- */

static void on_failed(void *arg, int err, const char *why)
{
	session_fail(arg, err, "conversions: %s", why);
}

static int open_conversions(struct session *s, struct cr_err *e)
{
	const struct campaign *c = s->cfg.campaign;
	const struct conversions_config cfg = {
		.spool = s->cfg.spool,
		.campaign = c,
		.seed = s->cfg.seed,
		.progress = on_speech,
		.failed = on_failed,
		.arg = s,
	};

	if (!c->conversions.count)
		return 0;
	return conversions_open(&s->conversions, &cfg, e);
}

/* The streams of the plan, and the calls that they make up. */
static int make_calls(struct session *s, struct cr_err *e)
{
	size_t n = s->plan.count;
	/* of two-way calls, by number: these are at most as many */
	struct feeder_call **of = calloc(n + 1, sizeof(*of));

	s->streams = calloc(n, sizeof(*s->streams));
	s->calls = calloc(n, sizeof(*s->calls));
	if (!of || !s->streams || !s->calls) {
		free(of);
		free(s->streams);
		s->streams = NULL;
		return cr_fail(e, -ENOMEM, "out of memory for %zu calls", n);
	}
	for (size_t i = 0; i < n; i++) {
		const struct plan_call *plan = &s->plan.calls[i];
		struct feeder_call *c = of[plan->two_way_call];
		struct feeder_stream *st = &s->streams[i];

		if (!plan->two_way_call || !c) {
			c = of[plan->two_way_call] = &s->calls[s->ncalls++];
			c->start = plan->start;
		}
		st->call = c;
		st->plan = plan;
		st->flow = &s->cfg.campaign->flows[plan->flow];
		st->port.fd = st->caller.fd = -1;
		c->side[st->flow->party.side] = st;
	}
	free(of);
	return 0;
}

static int make_session_plan(struct session *s, struct cr_err *e)
{
	struct plan_options o = { .seed = s->cfg.seed,
				  .duration = s->cfg.duration,
				  .counts = s->counts };
	int rc = plan_make(&s->plan, s->cfg.campaign, &o, e);

	if (rc)
		return rc;
	return make_calls(s, e);
}

/* The part of it that asks the daemon: how many calls each flow means. */
static int session_size(struct session *s, struct cr_err *e)
{
	const struct campaign *c = s->cfg.campaign;
	double *share, workers = 1;
	struct sockaddr_storage local;
	int rc = find_local(s, &local, e);

	if (!rc)
		rc = ports_open(&s->ports, s->cfg.ports, &local, e);
	if (!rc)
		rc = s->peer->greet(s, e);
	if (rc)
		return rc;
	share = calloc(c->flow_count, sizeof(*share));
	rc = share ? 0 : cr_fail(e, -ENOMEM, "out of memory");
	if (!rc && s->cfg.counts)
		memcpy(s->counts, s->cfg.counts,
		       c->flow_count * sizeof(*s->counts));
	for (unsigned f = 0; f < c->flow_count && !rc; f++)
		if (!s->counts[f] && campaign_needs_share(c, f))
			rc = s->peer->take_of(s, &c->flows[f], &share[f],
					      &workers, e);
	if (!rc)
		rc = campaign_counts(c, share, workers,
				     (double)s->cfg.scale_ppm / CR_PPM,
				     s->counts, e);
	free(share);
	return rc;
}

/* Do slow things first: an association that is not read is closed by the other
 * side. */
static int session_prepare(struct session *s, struct cr_err *e)
{
	int rc = open_sources(s, e);
	size_t most;

	if (!rc)
		rc = open_conversions(s, e);
	if (!rc)
		rc = session_size(s, e);
	if (!rc)
		rc = make_session_plan(s, e);
	if (rc)
		return rc;
	rc = plan_most_up(&s->plan, SESSION_LEAD, SESSION_DRAIN, &most);
	return rc ? cr_fail(e, rc, "out of memory")
		  : ports_check(s->cfg.ports, s->cfg.ng ? 2 * most : most,
				!s->cfg.ng, e);
}

/* --- one call, whoever is called: what it needs on our side, and its states;
 * the asking is the peer's --- */

static unsigned rtp_clock_of(const struct codec_use *endpoint)
{
	return cr_codec_clock(endpoint->codec, endpoint->cfg.sample_rate);
}

void session_call_fail(struct session *s, const struct feeder_call *c, int code,
		       const char *why)
{
	const struct feeder_stream *st = c->side[0];

	if (c->side[1])
		session_fail(s, code, "call %s-%u: %.400s",
			     flow_title(st->flow), st->plan->index, why);
	else
		session_fail(s, code, "call %lld: %.400s",
			     (long long)(c->id ? c->id : c - s->calls + 1),
			     why);
}

/* Set up what the other party of a two-way call must receive of @st. 0,
 * -ENOMEM. */
static int make_party_parts(struct feeder_stream *st)
{
	const struct feeder_stream *other = opposite_stream(st);

	st->heard = calloc(1, sizeof(*st->heard));
	if (!st->heard)
		return -ENOMEM;
	st->phone->pt = st->pt;
	heard_init(st->heard, &(struct heard_cfg){
				      .ssrc = st->ssrc_out,
				      .pt = st->pt_out,
				      .pt_event = other->pt_events,
				      .pt_noise = other->pt_noise,
				      .rtp_ticks = st->match->cfg.out_ticks,
				      .deaf = other->flow->party.deaf,
				      .seed = st->plan->seed,
			      });
	return 0;
}

/* Set up the reference and store of answers to @st, its voice and its plan. 0,
 * -ENOMEM. */
static int make_stream_parts(struct session *s, struct feeder_stream *st)
{
	const struct codec_use *out = &st->flow->out;
	const struct campaign_flow *f = st->flow;
	const unsigned clock = rtp_clock_of(out);
	/* how answers are compared with what was sent */
	const struct match_cfg m = {
		.in_frame = f->ptime,
		.out_clock = clock,
		.out_ticks = (unsigned)(call_out_frame(f) * clock / CR_SEC),
		.ts_base = st->ts_base,
		.deadline = f->terms.deadline,
		.dtx = f->out.cfg.dtx,
		.learn = st->by_port,
	};

	st->match = calloc(1, sizeof(*st->match));
	if (!st->match)
		return -ENOMEM;
	match_init(st->match, &m);
	if (s->cfg.times)
		st->match->times = times_new(st->plan->frames);
	if ((s->cfg.times && !st->match->times) ||
	    (st->phone && make_party_parts(st)))
		return -ENOMEM;
	source_voice_init(&st->voice, s->sources[st->plan->flow],
			  st->plan->seed);
	plan_stream_init(&st->stream, &s->plan, st->plan);
	st->stream.silent = source_silent;
	st->stream.silent_arg = &st->voice;
	st->playout = s->cfg.playout ? s->cfg.playout : CR_NEVER;
	if (s->speakers)
		st->speakers = speakers_limit(s->speakers, st->plan->flow);
	if (!s->cfg.dump ||
	    (s->cfg.dump_calls && st->plan->index >= s->cfg.dump_calls))
		return 0;
	st->dump = dump_new(out, (unsigned)(call_out_frame(f) *
					    codec_use_rate(out) / CR_SEC));
	return st->dump ? 0 : -ENOMEM;
}

/* Answers to @st come to its port or, of a two-way call, to whatever port the
 * other party has by then; those to calls are told apart by their SSRCs, too.
 */
static int listen_for_stream(struct session *s, struct feeder_stream *st,
			     struct cr_err *e)
{
	struct phone *p = st->phone ? opposite_stream(st)->phone : NULL;
	int rc = 0;

	if (!p && !st->by_port)
		rc = receiver_add(s->receiver, st);
	if (rc)
		return cr_fail(e, rc, "%s", strerror(-rc));
	if (!p)
		return ports_listen(&s->ports, &st->port, st, e);
	for (unsigned i = 0; i < p->nports && !rc; i++)
		rc = ports_listen(&s->ports, &p->ports[i], st, e);
	return rc;
}

void session_call_admitted(struct session *s, struct feeder_call *c)
{
	unsigned n = call_streams(c);
	struct cr_err e = { "" };
	int rc = 0;

	for (unsigned i = 0; i < n && !rc; i++)
		if (make_stream_parts(s, c->side[i]))
			rc = cr_fail(&e, -ENOMEM, "%s", strerror(ENOMEM));
	for (unsigned i = 0; i < n && !rc; i++)
		rc = listen_for_stream(s, c->side[i], &e);
	if (rc) {
		session_call_fail(s, c, rc, e.text);
		return;
	}
	c->state = CALL_ACTIVE;
	s->active += n;
	for (unsigned i = 0; i < n; i++) {
		struct feeder_stream *st = c->side[i];

		st->fd = st->caller.fd < 0 ? ports_fd(&s->ports, &st->port)
					   : st->caller.fd;
		pacer_add(s->pacer, st);
	}
}

/* The call has ended, or was refused. */
static void take_ports_back(struct session *s, struct feeder_call *c)
{
	s->open -= call_streams(c);
	for (unsigned k = 0; k < call_streams(c); k++) {
		struct phone *p = c->side[k]->phone;

		ports_take_back(&s->ports, &c->side[k]->port);
		ports_take_back(&s->ports, &c->side[k]->caller);
		for (unsigned i = 0; p && i < p->nports; i++) {
			if (p->ports[i].fd < 0)
				continue;
			p->drops += udp_socket_drops(p->ports[i].fd);
			ports_take_back(&s->ports, &p->ports[i]);
		}
	}
}

void session_call_refused(struct session *s, struct feeder_call *c,
			  const char *why)
{
	c->state = CALL_REFUSED;
	take_ports_back(s, c);
	s->refused += call_streams(c);
	if (!s->refusal[0])
		(void)snprintf(s->refusal, sizeof(s->refusal), "%.250s", why);
}

void session_call_over(struct session *s, struct feeder_call *c)
{
	c->state = CALL_ENDED;
	take_ports_back(s, c);
	s->active -= call_streams(c);
}

/* The payload type of digits that the party of @st sends or takes: it takes
 * those that the other one dials. -1: none. */
static int events_of(const struct feeder_stream *st)
{
	const struct campaign_dtmf *own = &st->flow->party.dtmf;
	const struct campaign_dtmf *other =
		&opposite_stream(st)->flow->party.dtmf;

	if (own->digits[0])
		return (int)own->pt;
	return other->digits[0] ? (int)other->pt : -1;
}

/* The same of noise: a codec with silence of its own takes that, and a payload
 * type has one clock. */
static int noise_of(const struct feeder_stream *st)
{
	const struct campaign_flow *own = st->flow;
	const struct campaign_flow *other = opposite_stream(st)->flow;

	if (own->party.cn.given)
		return (int)own->party.cn.pt;
	if (!other->party.cn.given || own->in.codec->dtx ||
	    rtp_clock_of(&own->in) != rtp_clock_of(&other->in))
		return -1;
	return (int)other->party.cn.pt;
}

/* All that the party that says @st will send from. */
static int open_party(struct session *s, struct feeder_stream *st,
		      struct cr_err *e)
{
	char other[PORT_TEXT];
	int rc = 0;

	st->pt_events = events_of(st);
	st->pt_noise = noise_of(st);
	st->phone = phone_new(st->flow, st->plan);
	if (!st->phone)
		return cr_fail(e, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < st->phone->nports && !rc; i++)
		rc = ports_give_own(&s->ports, &st->phone->ports[i],
				    i ? other : st->address, e);
	return rc;
}

/* The end and the numbers of a call of one stream. */
static int open_caller(struct session *s, struct feeder_stream *st,
		       struct cr_err *e)
{
	struct random r = random_fork(st->plan->seed, 4);

	/* RFC 3550, 5.1: random first values, here from the seed */
	st->ts_first = (uint32_t)random_next(&r);
	st->seq_first = (uint16_t)random_next(&r);
	st->ssrc = (uint32_t)random_next(&r);
	st->ts_ticks = (uint32_t)(st->flow->ptime *
				  rtp_clock_of(&st->flow->in) / CR_SEC);
	return ports_give(&s->ports, &st->port, st->address, e);
}

/* Our end of @c, and ask for it. */
static void start_session_call(struct session *s, struct feeder_call *c)
{
	struct cr_err e = { "" };
	int rc = 0;

	for (unsigned i = 0; i < call_streams(c) && !rc; i++)
		rc = c->side[1] ? open_party(s, c->side[i], &e)
				: open_caller(s, c->side[i], &e);
	if (rc) {
		session_call_fail(s, c, rc, e.text);
		return;
	}
	c->state = CALL_STARTING;
	s->open += call_streams(c);
	s->peer->start(s, c);
}

/* Has the pacer sent all of @c? */
static bool all_is_sent(const struct feeder_call *c)
{
	bool sent = true;

	/* acquire, pairs with the release of pacer.c */
	for (unsigned i = 0; i < call_streams(c); i++)
		sent &= atomic_load_explicit(&c->side[i]->done,
					     memory_order_acquire);
	return sent;
}

/* Stop what is through, and go on with two-way calls. */
static void go_on_with_calls(struct session *s, cr_ns now)
{
	for (size_t i = 0; i < s->next_start && !s->failed; i++) {
		struct feeder_call *c = &s->calls[i];

		if (c->side[1] &&
		    (c->state == CALL_ACTIVE || c->state == CALL_STOPPING))
			s->peer->go_on(s, c, now);
		if (c->state != CALL_ACTIVE ||
		    (!s->interrupted && !all_is_sent(c)))
			continue;
		if (!c->stop_at)
			c->stop_at = now + SESSION_DRAIN;
		if (c->stop_at <= now) {
			c->state = CALL_STOPPING;
			s->peer->stop(s, c);
		}
	}
}

/* --- the course of a run --- */

static void on_speakers(void *arg, cr_ns now, const char *line)
{
	struct session *s = arg;

	s->cfg.speakers(s->cfg.arg, now, line);
}

static void on_end(void *arg)
{
	struct session *s = arg;

	s->ended = !s->interrupted;
	s->interrupted = true;
	pacer_stop(s->pacer);
}

static void on_wrong_speakers(void *arg, int err, const char *why)
{
	session_fail(arg, err, "%s", why);
}

static struct session *make_session(const struct session_cfg *cfg)
{
	struct session *s = calloc(1, sizeof(*s));
	unsigned n = cfg->campaign->flow_count;
	const struct speakers_cfg lines = { .campaign = cfg->campaign,
					    .fd = STDIN_FILENO,
					    .set = on_speakers,
					    .end = on_end,
					    .failed = on_wrong_speakers,
					    .arg = s };

	if (!s)
		return NULL;
	s->cfg = *cfg;
	s->peer = cfg->ng ? &session_ng : &session_control;
	s->ports.common.fd = -1;
	s->base = event_base_new();
	s->sources = calloc(n, sizeof(struct source *));
	s->counts = calloc(n, sizeof(*s->counts));
	s->flows = calloc(n, sizeof(*s->flows));
	s->total = calloc(1, sizeof(*s->total));
	if (cfg->speakers)
		s->speakers = speakers_new(&lines);
	if (s->base && s->sources && s->counts && s->flows && s->total &&
	    (!cfg->speakers || s->speakers))
		return s;
	session_close(s);
	return NULL;
}

int session_check(const struct session_cfg *cfg, struct cr_err *e)
{
	return cfg->ng ? session_ng_check(cfg, e) : 0;
}

int session_open(struct session **out, const struct session_cfg *cfg,
		 struct cr_err *e)
{
	struct session *s = make_session(cfg);
	int rc;

	if (!s)
		return cr_fail(e, -ENOMEM, "out of memory");
	rc = session_prepare(s, e);
	if (rc) {
		session_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

int session_counts(const struct session_cfg *cfg, uint64_t *counts,
		   struct cr_err *e)
{
	struct session *s = make_session(cfg);
	int rc;

	if (!s)
		return cr_fail(e, -ENOMEM, "out of memory");
	rc = session_size(s, e);
	if (!rc)
		memcpy(counts, s->counts,
		       cfg->campaign->flow_count * sizeof(*counts));
	session_close(s);
	return rc;
}

/* ---- while it runs ---- */

static void on_interrupt(evutil_socket_t number, short what, void *arg)
{
	struct session *s = arg;

	(void)number, (void)what;
	if (s->interrupted) { /* a second one means at once */
		session_fail(s, -EINTR, "interrupted twice");
		return;
	}
	s->interrupted = true;
	pacer_stop(s->pacer);
}

/* Those that are not done by the campaign's end have had their time. */
static void start_conversions(struct session *s, cr_ns now)
{
	struct conversions *v = s->conversions;

	if (!v || s->failed)
		return;
	if (!s->converting && !s->interrupted &&
	    s->epoch + s->cfg.campaign->conversions.at <= now) {
		s->converting = true;
		conversions_submit(v, s->rpc, now);
	}
	if (s->interrupted || s->epoch + s->cfg.duration <= now)
		conversions_cancel(v);
}

static void report_progress(struct session *s, cr_ns now)
{
	struct session_progress p = { .phase = "calling",
				      .up = s->active,
				      .refused = s->refused };

	if (!s->cfg.progress)
		return;
	p.left = cr_ns_max(s->epoch + s->cfg.duration - now, 0);
	for (size_t i = 0; i < s->plan.count; i++) {
		const struct match *m = s->streams[i].match;

		if (!m)
			continue;
		p.sent += counter_read(&m->sent);
		p.received += counter_read(&m->received);
		p.lost += match_lost(m);
	}
	s->cfg.progress(s->cfg.arg, &p);
}

static void on_session_tick(evutil_socket_t fd, short what, void *arg)
{
	struct session *s = arg;
	cr_ns now = clock_now();

	(void)fd, (void)what;
	/* Calls are asked for in order of their start, a little before it. */
	while (!s->interrupted && !s->failed && s->next_start < s->ncalls) {
		struct feeder_call *c = &s->calls[s->next_start];

		if (s->epoch + c->start - SESSION_LEAD > now)
			break;
		s->next_start++;
		start_session_call(s, c);
	}
	go_on_with_calls(s, now);
	ports_tidy(&s->ports);
	start_conversions(s, now);
	report_progress(s, now);
	if (!s->open && (s->interrupted || s->next_start == s->ncalls) &&
	    (!s->conversions || conversions_over(s->conversions)))
		(void)event_base_loopbreak(s->base);
}

static void free_events(struct session *s)
{
	struct event **all[] = { &s->tick, &s->sigint, &s->sigterm };

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (*all[i])
			event_free(*all[i]);
		*all[i] = NULL;
	}
}

static int start_media_threads(struct session *s, struct cr_err *e)
{
	struct pacer_cfg cfg = { .cpu = s->cfg.cpu,
				 .io = s->cfg.io,
				 .streams = s->plan.count };
	int rc = receiver_open(&s->receiver, s->plan.count, s->cfg.cpu,
			       s->cfg.io, e);
	cr_ns now = clock_now();

	if (!rc)
		rc = ports_receive(&s->ports, s->receiver, e);
	if (rc)
		return rc;
	s->epoch = now + SESSION_LEAD + TICK;
	s->epoch_realtime = clock_read(CLOCK_REALTIME) + (s->epoch - now);
	s->cpu_before = clock_read(CLOCK_PROCESS_CPUTIME_ID);
	cfg.epoch = s->epoch;
	return pacer_open(&s->pacer, &cfg, e);
}

/* Pacer and receiver have stopped. */
static void close_call_ports(struct session *s)
{
	for (size_t i = 0; s->streams && i < s->plan.count; i++) {
		struct phone *p = s->streams[i].phone;

		ports_drop(&s->ports, &s->streams[i].port);
		ports_drop(&s->ports, &s->streams[i].caller);
		for (unsigned k = 0; p && k < p->nports; k++)
			ports_drop(&s->ports, &p->ports[k]);
	}
	ports_close(&s->ports);
}

/* --- sums --- */

/* Judge side @i of @c, a two-way call that began. */
static void judge_side(struct feeder_call *c, unsigned i)
{
	static const char *const names[] = {
#define NAME(name, ...) #name,
		STREAM_COUNTERS(NAME)
#undef NAME
	};
	const struct feeder_stream *st = c->side[i];
	const struct campaign_flow *f = st->flow;
	uint64_t counts[STREAM_NCOUNTERS];

	for (unsigned k = 0; k < STREAM_NCOUNTERS; k++)
		counts[k] = (uint64_t)json_integer_value(
			json_object_get(st->counts, names[k]));
	balance_judge(
		&(struct balance_side){
			.phone = st->phone,
			.heard = st->heard,
			.daemon = counts,
			.reported = st->counts != NULL,
			.drops = c->side[!i]->phone->drops,
			.clock_out = st->match->cfg.out_clock,
			/* lengths are the same, and no codec keeps silence
			 * to itself */
			.one_to_one = !c->relay &&
				      f->ptime == call_out_frame(f) &&
				      !f->in.cfg.dtx && !f->out.cfg.dtx,
			.relay = c->relay,
		},
		&c->balance[i]);
}

/* Add one stream; of a two-way call, once it is judged. */
static void tally_stream(struct tally *t, const struct feeder_stream *st)
{
	const struct match *m = st->match;

	t->planned++;
	t->refused += st->call->state == CALL_REFUSED;
	t->admitted += m != NULL;
	if (m) {
		t->sent += counter_read(&m->sent);
		t->withheld += counter_read(&m->withheld);
		t->copies += counter_read(&m->copies);
		t->missed += counter_read(&m->missed);
		t->received += counter_read(&m->received);
		t->late += counter_read(&m->late);
		t->duplicates += counter_read(&m->duplicates);
		t->reordered += counter_read(&m->reordered);
		t->unmatched += counter_read(&m->unmatched);
		t->octets_sent += counter_read(&m->octets_sent);
		t->octets_received += counter_read(&m->octets_received);
		t->lost += match_lost(m);
		/* with DTX, silence is not expected: what came and what is
		 * missing */
		t->expected +=
			m->cfg.dtx ? counter_read(&m->received) + match_lost(m)
				   : match_expected(m);
		histogram_merge(&t->delay, &m->delay);
		histogram_merge(&t->jitter, &m->jitter);
	}
	if (st->heard) {
		const struct balance *b =
			&st->call->balance[st->flow->party.side];

		t->duplicates += st->heard->count.repeated;
		t->reordered += st->heard->count.overtaken;
		t->unmatched +=
			st->heard->count.restarts + st->heard->count.foreign;
		t->digits_sent += b->digits_sent;
		t->digits_right += b->digits_right;
		t->faults += b->count;
	}
}

int session_play(struct session *s, struct cr_err *e)
{
	const struct timeval tick = { .tv_usec = TICK / CR_US };
	int rc = s->peer->begin(s, e);

	if (!rc)
		rc = start_media_threads(s, e);
	if (!rc) {
		s->tick =
			event_new(s->base, -1, EV_PERSIST, on_session_tick, s);
		s->sigint = evsignal_new(s->base, SIGINT, on_interrupt, s);
		s->sigterm = evsignal_new(s->base, SIGTERM, on_interrupt, s);
		if (!s->tick || !s->sigint || !s->sigterm ||
		    event_add(s->tick, &tick) || event_add(s->sigint, NULL) ||
		    event_add(s->sigterm, NULL))
			rc = cr_fail(e, -ENOMEM, "out of memory for events");
	}
	if (!rc && s->speakers)
		rc = speakers_read(s->speakers, s->base, e);
	if (!rc)
		(void)event_base_dispatch(s->base);
	free_events(s);
	if (s->pacer)
		pacer_stop(s->pacer);
	if (s->receiver)
		receiver_stop(s->receiver);
	s->cpu = clock_read(CLOCK_PROCESS_CPUTIME_ID) - s->cpu_before;
	close_call_ports(s);
	for (size_t i = 0; i < 2 * s->ncalls; i++)
		if (two_way_began(&s->calls[i / 2]))
			judge_side(&s->calls[i / 2], i % 2);
	for (size_t i = 0; i < s->plan.count; i++)
		tally_stream(&s->flows[s->plan.calls[i].flow], &s->streams[i]);
	for (unsigned f = 0; f < s->cfg.campaign->flow_count; f++) {
		const struct tally *t = &s->flows[f];

#define ADD(name, help) s->total->name += t->name;
		TALLY_COUNTS(ADD)
#undef ADD
		histogram_merge(&s->total->delay, &t->delay);
		histogram_merge(&s->total->jitter, &t->jitter);
	}
	if (!rc && !s->failed)
		s->peer->leave(s);
	return s->failed && !rc ? cr_fail(e, s->failed, "%s", s->why.text) : rc;
}

void session_result(struct session *s, struct session_result *out)
{
	*out = (struct session_result){
		.plan = &s->plan,
		.streams = s->streams,
		.calls = s->calls,
		.ncalls = s->ncalls,
		.flows = s->flows,
		.total = s->total,
		.counts = s->counts,
		.conversions = s->conversions,
		.hello = s->hello,
		.stats = s->stats,
		.cpu = s->cpu,
		.epoch_realtime = s->epoch_realtime,
		.drops = s->ports.drops,
		.interrupted = s->interrupted && !s->ended,
	};
	if (s->pacer)
		pacer_stats(s->pacer, &out->pacer);
	if (s->receiver)
		receiver_stats(s->receiver, &out->receiver);
	(void)snprintf(out->refusal, sizeof(out->refusal), "%s", s->refusal);
}

static void free_calls(struct session *s)
{
	for (size_t i = 0; s->streams && i < s->plan.count; i++) {
		struct feeder_stream *st = &s->streams[i];

		json_decref(st->counts);
		dump_free(st->dump);
		if (st->match)
			times_free(st->match->times);
		free(st->match);
		phone_free(st->phone);
		free(st->heard);
	}
	for (size_t i = 0; i < s->ncalls; i++)
		json_decref(s->calls[i].reported);
	free(s->streams);
	free(s->calls);
}

void session_close(struct session *s)
{
	if (!s)
		return;
	free_events(s);
	pacer_close(s->pacer);
	receiver_close(s->receiver);
	s->failed = s->failed ? s->failed : -ECANCELED; /* late replies */
	s->peer->hang_up(s);
	conversions_close(s->conversions);
	close_call_ports(s);
	free_calls(s);
	speakers_free(s->speakers);
	plan_fini(&s->plan);
	for (unsigned f = 0; s->sources && f < s->cfg.campaign->flow_count;
	     f++) {
		bool shared = false;

		for (unsigned k = 0; k < f; k++)
			shared |= s->sources[k] == s->sources[f];
		if (!shared)
			source_close(s->sources[f]);
	}
	free(s->sources);
	json_decref(s->hello);
	json_decref(s->stats);
	free(s->counts);
	free(s->flows);
	free(s->total);
	if (s->base)
		event_base_free(s->base);
	free(s);
}
