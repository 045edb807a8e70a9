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

static int make_session_plan(struct session *s, struct cr_err *e)
{
	struct plan_options o = { .seed = s->cfg.seed,
				  .duration = s->cfg.duration,
				  .counts = s->counts };
	int rc = plan_make(&s->plan, s->cfg.campaign, &o, e);

	if (rc)
		return rc;
	s->calls = calloc(s->plan.count, sizeof(*s->calls));
	if (!s->calls)
		return cr_fail(e, -ENOMEM, "out of memory for %zu calls",
			       s->plan.count);
	for (size_t i = 0; i < s->plan.count; i++) {
		s->calls[i].plan = &s->plan.calls[i];
		s->calls[i].port.fd = -1;
		s->calls[i].caller.fd = -1;
		s->calls[i].flow =
			&s->cfg.campaign->flows[s->plan.calls[i].flow];
	}
	for (size_t i = 0; i < s->plan.count; i++)
		if (s->plan.calls[i].conversation > s->ntalks)
			s->ntalks = (size_t)s->plan.calls[i].conversation;
	s->talks = calloc(s->ntalks + 1, sizeof(*s->talks));
	if (!s->talks) {
		s->ntalks = 0;
		return cr_fail(e, -ENOMEM, "out of memory for conversations");
	}
	for (size_t i = 0; i < s->plan.count; i++) {
		struct feeder_call *c = &s->calls[i];

		if (!c->plan->conversation)
			continue;
		c->talk = &s->talks[c->plan->conversation - 1];
		c->talk->side[c->flow->party.side] = c;
	}
	return 0;
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

/* What takes long comes first: an association whose packets nobody reads is
 * given up by the other side. */
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

static unsigned rtp_clock_of(const struct campaign_endpoint *endpoint)
{
	return cr_codec_clock(endpoint->codec, endpoint->cfg.sample_rate);
}

void session_call_fail(struct session *s, const struct feeder_call *c, int code,
		       const char *why)
{
	if (c->talk)
		session_fail(s, code, "conversation %s-%u: %.400s",
			     campaign_title(c->flow), c->plan->index, why);
	else
		session_fail(s, code, "call %lld: %.400s",
			     (long long)(c->id ? c->id
					       : c->plan - s->plan.calls + 1),
			     why);
}

/* @c, and its other direction if it has one, are now in @state. Returns how
 * many they are. */
static unsigned set_call_state(struct feeder_call *c,
			       enum feeder_call_state state)
{
	c->state = state;
	if (!c->talk)
		return 1;
	talk_other(c)->state = state;
	return 2;
}

/* What the other party of a conversation is to hear of @c. 0, -ENOMEM. */
static int make_party_parts(struct feeder_call *c)
{
	const struct feeder_call *other = talk_other(c);

	c->heard = calloc(1, sizeof(*c->heard));
	if (!c->heard)
		return -ENOMEM;
	c->phone->pt = c->pt;
	heard_init(c->heard, &(struct heard_cfg){
				     .ssrc = c->ssrc_out,
				     .pt = c->pt_out,
				     .pt_event = other->pt_events,
				     .pt_noise = other->pt_noise,
				     .rtp_ticks = c->match->cfg.out_ticks,
				     .deaf = other->flow->party.deaf,
				     .seed = c->plan->seed,
			     });
	return 0;
}

/* What answers to @c are compared with, and kept in; the voice and the plan of
 * what it says. 0, -ENOMEM. */
static int make_call_parts(struct session *s, struct feeder_call *c)
{
	const struct campaign_endpoint *out = &c->flow->out;
	const struct campaign_flow *f = c->flow;
	const unsigned clock = rtp_clock_of(out);
	/* how answers are compared with what was sent */
	const struct match_cfg m = {
		.in_frame = f->ptime,
		.out_clock = clock,
		.out_ticks = (unsigned)(call_out_frame(f) * clock / CR_SEC),
		.ts_base = c->ts_base,
		.deadline = f->terms.deadline,
		.dtx = f->out.cfg.dtx,
		.learn = c->by_port,
	};

	c->match = calloc(1, sizeof(*c->match));
	if (!c->match)
		return -ENOMEM;
	match_init(c->match, &m);
	if (s->cfg.times)
		c->match->times = times_new(c->plan->frames);
	if ((s->cfg.times && !c->match->times) ||
	    (c->talk && make_party_parts(c)))
		return -ENOMEM;
	source_voice_init(&c->voice, s->sources[c->plan->flow], c->plan->seed);
	plan_stream_init(&c->stream, &s->plan, c->plan);
	c->stream.silent = source_silent;
	c->stream.silent_arg = &c->voice;
	c->playout = s->cfg.playout ? s->cfg.playout : CR_NEVER;
	if (s->speakers)
		c->speakers = speakers_limit(s->speakers, c->plan->flow);
	if (!s->cfg.dump ||
	    (s->cfg.dump_calls && c->plan->index >= s->cfg.dump_calls))
		return 0;
	c->dump =
		dump_new(out, (unsigned)(call_out_frame(f) *
					 campaign_endpoint_rate(out) / CR_SEC));
	return c->dump ? 0 : -ENOMEM;
}

/* Answers to @c come to its port or, of a conversation, to whatever port the
 * other party has by then; those to calls are told apart by their SSRCs, too.
 */
static int listen_for_call(struct session *s, struct feeder_call *c,
			   struct cr_err *e)
{
	struct phone *p = c->talk ? talk_other(c)->phone : NULL;
	int rc = 0;

	if (!p && !c->by_port)
		rc = receiver_add(s->receiver, c);
	if (rc)
		return cr_fail(e, rc, "%s", strerror(-rc));
	if (!p)
		return ports_listen(&s->ports, &c->port, c, e);
	for (unsigned i = 0; i < p->nports && !rc; i++)
		rc = ports_listen(&s->ports, &p->ports[i], c, e);
	return rc;
}

void session_call_admitted(struct session *s, struct feeder_call *c)
{
	struct feeder_call *const both[] = { c,
					     c->talk ? talk_other(c) : NULL };
	struct cr_err e = { "" };
	int rc = 0;

	for (unsigned i = 0; i < 2 && both[i] && !rc; i++)
		if (make_call_parts(s, both[i]))
			rc = cr_fail(&e, -ENOMEM, "%s", strerror(ENOMEM));
	for (unsigned i = 0; i < 2 && both[i] && !rc; i++)
		rc = listen_for_call(s, both[i], &e);
	if (rc) {
		session_call_fail(s, c, rc, e.text);
		return;
	}
	c->fd = c->caller.fd < 0 ? ports_fd(&s->ports, &c->port) : c->caller.fd;
	s->active += set_call_state(c, CALL_ACTIVE);
	for (unsigned i = 0; i < 2 && both[i]; i++)
		pacer_add(s->pacer, both[i]);
}

static void take_ports_back(struct session *s, struct feeder_call *c)
{
	struct phone *p = c->phone;

	ports_take_back(&s->ports, &c->port);
	ports_take_back(&s->ports, &c->caller);
	for (unsigned i = 0; p && i < p->nports; i++) {
		if (p->ports[i].fd < 0)
			continue;
		p->drops += udp_socket_drops(p->ports[i].fd);
		ports_take_back(&s->ports, &p->ports[i]);
	}
	if (c->talk && !c->flow->party.side)
		take_ports_back(s, talk_other(c));
}

void session_call_refused(struct session *s, struct feeder_call *c,
			  const char *why)
{
	unsigned n = set_call_state(c, CALL_REFUSED);

	take_ports_back(s, c);
	s->open -= n;
	s->refused += n;
	if (!s->refusal[0])
		(void)snprintf(s->refusal, sizeof(s->refusal), "%.250s", why);
}

void session_call_over(struct session *s, struct feeder_call *c)
{
	unsigned n = set_call_state(c, CALL_ENDED);

	take_ports_back(s, c);
	s->open -= n;
	s->active -= n;
}

/* The payload type of digits that the party of @c sends or takes: it takes
 * those that the other one dials. -1: none. */
static int events_of(const struct feeder_call *c)
{
	const struct campaign_dtmf *own = &c->flow->party.dtmf;
	const struct campaign_dtmf *other = &talk_other(c)->flow->party.dtmf;

	if (own->digits[0])
		return (int)own->pt;
	return other->digits[0] ? (int)other->pt : -1;
}

/* The same of noise: a codec with silence of its own takes that, and a payload
 * type has one clock. */
static int noise_of(const struct feeder_call *c)
{
	const struct campaign_flow *own = c->flow;
	const struct campaign_flow *other = talk_other(c)->flow;

	if (own->party.cn.given)
		return (int)own->party.cn.pt;
	if (!other->party.cn.given || own->in.codec->dtx ||
	    rtp_clock_of(&own->in) != rtp_clock_of(&other->in))
		return -1;
	return (int)other->party.cn.pt;
}

/* All that the party that says @c will send from. */
static int open_party(struct session *s, struct feeder_call *c,
		      struct cr_err *e)
{
	char other[PORT_TEXT];
	int rc = 0;

	c->pt_events = events_of(c);
	c->pt_noise = noise_of(c);
	c->phone = phone_new(c->flow, c->plan);
	if (!c->phone)
		return cr_fail(e, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < c->phone->nports && !rc; i++)
		rc = ports_give_own(&s->ports, &c->phone->ports[i],
				    i ? other : c->address, e);
	return rc;
}

/* Our end of @c, or both parties' of its conversation, and ask for it. */
static void start_session_call(struct session *s, struct feeder_call *c)
{
	struct random r = random_fork(c->plan->seed, 4);
	struct cr_err e = { "" };
	int rc;

	if (c->talk) {
		c = c->talk->side[0];
		rc = open_party(s, c, &e);
		if (!rc)
			rc = open_party(s, c->talk->side[1], &e);
	} else {
		rc = ports_give(&s->ports, &c->port, c->address, &e);
		/* RFC 3550, 5.1: random first values, here from the seed */
		c->ts_first = (uint32_t)random_next(&r);
		c->seq_first = (uint16_t)random_next(&r);
		c->ssrc = (uint32_t)random_next(&r);
		c->ts_ticks = (uint32_t)(c->flow->ptime *
					 rtp_clock_of(&c->flow->in) / CR_SEC);
	}
	if (rc) {
		session_call_fail(s, c, rc, e.text);
		return;
	}
	s->open += set_call_state(c, CALL_STARTING);
	s->peer->start(s, c);
}

/* Stop what is through, and go on with conversations. */
static void go_on_with_calls(struct session *s, cr_ns now)
{
	for (size_t i = 0; i < s->next_start && !s->failed; i++) {
		struct feeder_call *c = &s->calls[i];

		if (c->talk && c->flow->party.side) {
			if (c->talk->side[0] < &s->calls[s->next_start])
				continue;     /* with the other */
			c = c->talk->side[0]; /* its own start has not come */
		}
		if (c->talk &&
		    (c->state == CALL_ACTIVE || c->state == CALL_STOPPING))
			s->peer->go_on(s, c->talk, now);
		if (c->state != CALL_ACTIVE)
			continue;
		/* has the pacer sent all of it, and of its other direction?
		 * Pairs with the release of pacer.c. */
		if (!s->interrupted &&
		    (!atomic_load_explicit(&c->done, memory_order_acquire) ||
		     (c->talk && !atomic_load_explicit(&talk_other(c)->done,
						       memory_order_acquire))))
			continue;
		if (!c->stop_at)
			c->stop_at = now + SESSION_DRAIN;
		if (c->stop_at <= now) {
			(void)set_call_state(c, CALL_STOPPING);
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

static struct session *session_new(const struct session_cfg *cfg)
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
	struct session *s = session_new(cfg);
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
	struct session *s = session_new(cfg);
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
	for (size_t i = 0; i < s->next_start; i++) {
		const struct match *m = s->calls[i].match;

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
	while (!s->interrupted && !s->failed && s->next_start < s->plan.count) {
		struct feeder_call *c = &s->calls[s->next_start];

		if (s->epoch + c->plan->start - SESSION_LEAD > now)
			break;
		s->next_start++;
		if (c->state == CALL_PLANNED) /* else with the other */
			start_session_call(s, c);
	}
	go_on_with_calls(s, now);
	ports_tidy(&s->ports);
	start_conversions(s, now);
	report_progress(s, now);
	if (!s->open && (s->interrupted || s->next_start == s->plan.count) &&
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
				 .calls = s->plan.count };
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
	for (size_t i = 0; s->calls && i < s->plan.count; i++) {
		struct phone *p = s->calls[i].phone;

		ports_drop(&s->ports, &s->calls[i].port);
		ports_drop(&s->ports, &s->calls[i].caller);
		for (unsigned k = 0; p && k < p->nports; k++)
			ports_drop(&s->ports, &p->ports[k]);
	}
	ports_close(&s->ports);
}

/* --- sums --- */

/* Judge side @i of @t, which began. */
static void judge_talk(struct talk *t, unsigned i)
{
	static const char *const names[] = {
#define NAME(name, ...) #name,
		CALL_COUNTERS(NAME)
#undef NAME
	};
	const struct feeder_call *c = t->side[i];
	const struct campaign_flow *f = c->flow;
	uint64_t counts[CALL_NCOUNTERS];

	for (unsigned k = 0; k < CALL_NCOUNTERS; k++)
		counts[k] = (uint64_t)json_integer_value(
			json_object_get(c->counts, names[k]));
	balance_judge(
		&(struct balance_side){
			.phone = c->phone,
			.heard = c->heard,
			.daemon = counts,
			.reported = c->counts != NULL,
			.drops = t->side[!i]->phone->drops,
			.clock_out = c->match->cfg.out_clock,
			/* lengths are the same, and no codec keeps silence
			 * to itself */
			.one_to_one = !t->relay &&
				      f->ptime == call_out_frame(f) &&
				      !f->in.cfg.dtx && !f->out.cfg.dtx,
			.relay = t->relay,
		},
		&t->balance[i]);
}

/* Add one call; of a conversation, once it is judged. */
static void tally_call(struct tally *t, const struct feeder_call *c)
{
	const struct match *m = c->match;

	t->planned++;
	t->refused += c->state == CALL_REFUSED;
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
	if (c->heard) {
		const struct balance *b =
			&c->talk->balance[c->flow->party.side];

		t->duplicates += c->heard->count.repeated;
		t->reordered += c->heard->count.overtaken;
		t->unmatched +=
			c->heard->count.restarts + c->heard->count.foreign;
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
	for (size_t i = 0; i < 2 * s->ntalks; i++)
		if (talk_began(&s->talks[i / 2]))
			judge_talk(&s->talks[i / 2], i % 2);
	for (size_t i = 0; i < s->plan.count; i++)
		tally_call(&s->flows[s->calls[i].plan->flow], &s->calls[i]);
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
		.calls = s->calls,
		.flows = s->flows,
		.total = s->total,
		.counts = s->counts,
		.conversions = s->conversions,
		.talks = s->talks,
		.ntalks = s->ntalks,
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
	for (size_t i = 0; s->calls && i < s->plan.count; i++) {
		json_decref(s->calls[i].counts);
		dump_free(s->calls[i].dump);
		if (s->calls[i].match)
			times_free(s->calls[i].match->times);
		free(s->calls[i].match);
		phone_free(s->calls[i].phone);
		free(s->calls[i].heard);
	}
	for (size_t i = 0; i < s->ntalks; i++)
		json_decref(s->talks[i].reported);
	free(s->talks);
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
