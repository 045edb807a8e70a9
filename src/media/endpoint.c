/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An endpoint: where packets go to; what control and its receiver do with it;
 * the endpoints by name; and its RTCP.
 */
#include "media/endpoint.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/counter.h"

/* --- where packets go to --- */

_Static_assert(DESTINATION_WORDS * sizeof(uint64_t) >=
		       sizeof(struct sockaddr_in6),
	       "an address fits");

void destination_init(struct destination *dest)
{
	memset(dest, 0, sizeof(*dest));
	(void)pthread_mutex_init(&dest->lock, NULL);
}

void destination_fini(struct destination *dest)
{
	(void)pthread_mutex_destroy(&dest->lock);
}

/* Lock held: readers wait, or do not believe what they read. */
static unsigned begin_destination_change(struct destination *dest)
{
	unsigned version =
		atomic_load_explicit(&dest->version, memory_order_relaxed);

	atomic_store_explicit(&dest->version, version + 1,
			      memory_order_relaxed);
	/* odd before the words change */
	atomic_thread_fence(memory_order_release);
	return version;
}

static void end_destination_change(struct destination *dest, unsigned version)
{
	/* release, pairs with read_destination() */
	atomic_store_explicit(&dest->version, version + 2,
			      memory_order_release);
}

void destination_set(struct destination *dest,
		     const struct sockaddr_storage *to)
{
	uint64_t word[DESTINATION_WORDS] = { 0 };
	unsigned version;

	if (to->ss_family)
		memcpy(word, to, address_length(to));
	(void)pthread_mutex_lock(&dest->lock);
	version = begin_destination_change(dest);
	for (unsigned i = 0; i < DESTINATION_WORDS; i++)
		atomic_store_explicit(&dest->word[i], word[i],
				      memory_order_relaxed);
	end_destination_change(dest, version);
	(void)pthread_mutex_unlock(&dest->lock);
}

void destination_hold(struct destination *dest, bool held)
{
	unsigned version;

	(void)pthread_mutex_lock(&dest->lock);
	version = begin_destination_change(dest);
	atomic_store_explicit(&dest->held, held, memory_order_relaxed);
	end_destination_change(dest, version);
	(void)pthread_mutex_unlock(&dest->lock);
}

/* Read all of it at one moment. False: it is being written. */
static bool read_destination(const struct destination *dest, unsigned *version,
			     bool *held, uint64_t word[DESTINATION_WORDS])
{
	unsigned before =
		atomic_load_explicit(&dest->version, memory_order_acquire);
	bool is_held;

	for (unsigned i = 0; i < DESTINATION_WORDS; i++)
		word[i] = atomic_load_explicit(&dest->word[i],
					       memory_order_relaxed);
	is_held = atomic_load_explicit(&dest->held, memory_order_relaxed);
	/* the words before the second look */
	atomic_thread_fence(memory_order_acquire);
	if (before % 2 || before != atomic_load_explicit(&dest->version,
							 memory_order_relaxed))
		return false;
	*version = before;
	*held = is_held;
	return true;
}

bool destination_try(const struct destination *dest, unsigned *version,
		     bool *held, struct sockaddr_storage *to)
{
	uint64_t word[DESTINATION_WORDS];

	if (!read_destination(dest, version, held, word))
		return false;
	memset(to, 0, sizeof(*to));
	if (!*held)
		memcpy(to, word, sizeof(word));
	return true;
}

unsigned destination_read(const struct destination *dest,
			  struct sockaddr_storage *to)
{
	uint64_t word[DESTINATION_WORDS];
	unsigned version;
	bool held;

	while (!read_destination(dest, &version, &held, word))
		;
	memset(to, 0, sizeof(*to));
	memcpy(to, word, sizeof(word));
	return version;
}

/* --- packets of types that stand for nothing --- */

#define PACKETS_MASK ((UINT64_C(1) << 56) - 1)

static uint64_t get_unknown(const _Atomic uint64_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

/* One thread writes. */
static void put_unknown(_Atomic uint64_t *n, uint64_t v)
{
	atomic_store_explicit(n, v, memory_order_relaxed);
}

void payload_unknown_count(struct payload_unknown *u, uint8_t pt)
{
	for (unsigned i = 0; i < PAYLOAD_UNKNOWN_TYPES; i++) {
		uint64_t n = get_unknown(&u->type[i]);

		if (!n)
			n = (uint64_t)(1u + (pt & 127u)) << 56;
		if (n >> 56 == 1u + (pt & 127u)) {
			put_unknown(&u->type[i], n + 1);
			return;
		}
	}
	put_unknown(&u->others, get_unknown(&u->others) + 1);
}

uint64_t payload_unknown_type(const struct payload_unknown *u, unsigned i,
			      uint8_t *pt)
{
	uint64_t n;

	if (i >= PAYLOAD_UNKNOWN_TYPES) {
		*pt = 255;
		return get_unknown(&u->others);
	}
	n = get_unknown(&u->type[i]);
	*pt = (uint8_t)((n >> 56) - 1);
	return n & PACKETS_MASK;
}

const char *payload_unknown_text(const struct payload_unknown *u, char *buf,
				 size_t size)
{
	size_t at = 0;
	uint8_t pt;

	buf[0] = '\0';
	for (unsigned i = 0; i <= PAYLOAD_UNKNOWN_TYPES && at < size; i++) {
		unsigned long long n = payload_unknown_type(u, i, &pt);
		const char *comma = at ? ", " : "";
		int more = 0;

		if (n && pt < 128)
			more = snprintf(buf + at, size - at,
					"%s%llu of type %u", comma, n, pt);
		else if (n)
			more = snprintf(buf + at, size - at, "%s%llu of others",
					comma, n);
		at += more > 0 ? (size_t)more : 0;
	}
	return buf;
}

/* --- an endpoint --- */

struct endpoint *endpoint_new(const struct endpoint_cfg *cfg)
{
	struct endpoint *ep = aligned_alloc(CACHE_LINE, sizeof(*ep));

	if (!ep)
		return NULL;
	memset(ep, 0, sizeof(*ep));
	ep->cfg = *cfg;
	ep->terms = cfg->terms;
	(void)pthread_mutex_init(&ep->lock, NULL);
	destination_init(&ep->to);
	destination_set(&ep->to, &cfg->terms.signalled);
	learn_init(&ep->learn, &cfg->terms);
	ep->poll_at = ep->due[ENDPOINT_OWN] = ep->due[ENDPOINT_RECEIVE_STAGE] =
		CR_NEVER;
	return ep;
}

void endpoint_free(struct endpoint *ep)
{
	if (!ep)
		return;
	endpoint_rtcp_close(ep);
	destination_fini(&ep->to);
	(void)pthread_mutex_destroy(&ep->lock);
	free(ep);
}

void endpoint_feed(struct endpoint *ep, struct stream *s)
{
	/* release: the receiver finds it complete */
	atomic_store_explicit(&ep->stream, s, memory_order_release);
}

/* Do answers go to the address of @terms at once? As learn_again() has it, a
 * party that was heard keeps its place unless another address is told than
 * before: behind NAT it is somewhere else, and its next packet may be long in
 * coming. */
static bool moves(const struct endpoint *ep, const struct learn_terms *terms)
{
	const struct learn_terms *before = &ep->cfg.terms;
	struct sockaddr_storage now;

	if (!terms->signalled.ss_family)
		return false;
	if (terms->mode == LEARN_STRICT || terms->mode == LEARN_ASYMMETRIC)
		return true;
	(void)destination_read(&ep->to, &now);
	return !now.ss_family ||
	       (before->signalled.ss_family &&
		!address_equal(&before->signalled, &terms->signalled));
}

void endpoint_again(struct endpoint *ep, const struct learn_terms *terms)
{
	(void)pthread_mutex_lock(&ep->lock);
	ep->terms = *terms;
	/* release, pairs with has_new_terms() */
	atomic_fetch_add_explicit(&ep->version, 1, memory_order_release);
	/* before the receiver can have these terms, and learn more */
	if (moves(ep, terms))
		destination_set(&ep->to, &terms->signalled);
	(void)pthread_mutex_unlock(&ep->lock);
	ep->cfg.terms = *terms;
}

void endpoint_hold(struct endpoint *ep, bool held)
{
	destination_hold(&ep->to, held);
}

static bool has_new_terms(const struct endpoint *ep)
{
	return atomic_load_explicit(&ep->version, memory_order_acquire) !=
	       ep->terms_version;
}

static void take_learn_terms(struct endpoint *ep, cr_ns now)
{
	struct learn_terms terms;

	(void)pthread_mutex_lock(&ep->lock);
	terms = ep->terms;
	ep->terms_version =
		atomic_load_explicit(&ep->version, memory_order_relaxed);
	(void)pthread_mutex_unlock(&ep->lock);
	learn_again(&ep->learn, &terms, now);
}

/* Answers go where learn_to() says. Control may have set a newer address just
 * before: then there are newer terms, too. */
static void set_destination(struct endpoint *ep, cr_ns now)
{
	destination_set(&ep->to, learn_to(&ep->learn));
	while (has_new_terms(ep)) {
		take_learn_terms(ep, now);
		destination_set(&ep->to, learn_to(&ep->learn));
	}
}

unsigned endpoint_receive(struct endpoint *ep, const struct learn_arrival *p,
			  cr_ns now)
{
	unsigned long long count[LEARN_NCOUNTERS];
	unsigned result;

	if (has_new_terms(ep)) {
		take_learn_terms(ep, now);
		set_destination(ep, now);
	}
	result = learn_packet(&ep->learn, p, now);
	if (__builtin_expect(ep->cfg.state != NULL, 0)) {
		/* for a process that may have to go on */
		learn_counts(&ep->learn, count);
		for (unsigned i = 0; i < LEARN_NCOUNTERS; i++)
			atomic_store_explicit(&ep->cfg.state->learned[i],
					      count[i], memory_order_relaxed);
	}
	if (learn_accepts(result) && result & LEARN_NEW_ADDRESS)
		set_destination(ep, now);
	return result;
}

/* --- time --- */

bool endpoint_begin_polls(struct endpoint *ep, struct wheel *w)
{
	ep->wheel = w;
	if (!ep->cfg.first_poll)
		return false;
	ep->poll_at = ep->due[ENDPOINT_OWN] = ep->cfg.first_poll;
	return wheel_arm(w, &ep->timer, ep->poll_at);
}

void endpoint_end_polls(struct endpoint *ep)
{
	wheel_close(ep->wheel, &ep->timer);
}

cr_ns endpoint_poll(struct endpoint *ep, cr_ns now)
{
	cr_ns due = CR_NEVER;

	if (ep->rtcp)
		due = cr_ns_min(due, endpoint_rtcp_poll(ep, now));
	return due;
}

void endpoint_wait(struct endpoint *ep, enum endpoint_part part, cr_ns due)
{
	ep->due[part] = due;
	due = cr_ns_min(ep->due[ENDPOINT_OWN], ep->due[ENDPOINT_RECEIVE_STAGE]);
	if (due == ep->poll_at)
		return;
	ep->poll_at = due;
	(void)wheel_arm(ep->wheel, &ep->timer, due);
}

/* --- the endpoints by name --- */

_Static_assert(SOCKETS_CHUNK *SOCKETS_CHUNKS <= ENDPOINTS_RTCP,
	       "the low half of a name is a place");

int endpoints_add(struct endpoints *t, struct endpoint *ep)
{
	const struct sockets_entry e = { ep->cfg.fd, (uintptr_t)ep };

	return sockets_add(&t->places, &e, &ep->key);
}

void endpoints_del(struct endpoints *t, struct endpoint *ep)
{
	sockets_del(&t->places, ep->key);
}

void endpoints_fini(struct endpoints *t)
{
	sockets_fini(&t->places);
}

/* --- RTCP --- */

/* Interval of reports to control, at moments that endpoints share, so that they
 * share a wake-up. */
#define NEWS CR_SEC
#define NEWS_SHARED (CR_SEC / 16)
/* How often to look whether there is somebody to send to. */
#define NOBODY CR_SEC

enum { PARTY, LISTENER, NPEERS };

static void report_session(struct endpoint_rtcp *r);

/* Begin, or go on from another process. 0; or as rtcp_session_init(). */
static int begin_session(struct endpoint *ep, cr_ns now)
{
	struct endpoint_rtcp *r = ep->rtcp;
	struct state_rtcp *kept = r->kept;
	const struct rtcp_session_config session = {
		.cname = kept->cname,
		.sent = &kept->stream,
		.seed = r->cfg.random[2],
		.ssrc = atomic_load_explicit(&r->ssrc, memory_order_relaxed),
		.rate_in =
			atomic_load_explicit(&r->rate_in, memory_order_relaxed),
		.rate_out = atomic_load_explicit(&r->rate_out,
						 memory_order_relaxed),
		.interval = r->cfg.interval,
	};
	int err = 0;

	if (!kept->cname[0] ||
	    !memchr(kept->cname, '\0', sizeof(kept->cname)) ||
	    rtcp_session_resume(&kept->session, &session, now)) {
		rtcp_cname(r->cfg.random, kept->cname);
		err = rtcp_session_init(&kept->session, &session, now);
	}
	if (err)
		return err;
	atomic_store_explicit(&r->ssrc, kept->session.cfg.ssrc,
			      memory_order_relaxed);
	report_session(r);
	ep->cfg.first_poll = rtcp_due(&kept->session);
	return 0;
}

int endpoint_rtcp_open(struct endpoint *ep, const struct endpoint_rtcp_cfg *cfg,
		       cr_ns now, struct cr_err *e)
{
	struct endpoint_rtcp *r = aligned_alloc(CACHE_LINE, sizeof(*r));
	int err;

	if (!r)
		return cr_fail(e, -ENOMEM, "out of memory for RTCP");
	memset(r, 0, sizeof(*r));
	r->cfg = *cfg;
	r->report_at = CR_NEVER;
	r->mux = cfg->mode == ENDPOINT_RTCP_MUX;
	atomic_init(&r->agreed, r->mux);
	r->kept = ep->cfg.state ? &ep->cfg.state->rtcp : &r->own;
	(void)pthread_mutex_init(&r->lock, NULL);
	destination_init(&r->signalled);
	ep->rtcp = r;
	endpoint_rtcp_use(ep, &cfg->use);
	err = begin_session(ep, now);
	if (!err)
		return 0;
	endpoint_rtcp_close(ep);
	return cr_fail(e, err,
		       "RTCP of clocks %u and %u Hz every %g s cannot be",
		       cfg->use.rate_in, cfg->use.rate_out,
		       (double)cfg->interval / 1e9);
}

void endpoint_keep(struct endpoint *ep, struct state_stream *state, cr_ns now)
{
	ep->cfg.state = state;
	if (!ep->rtcp)
		return;
	ep->rtcp->kept = &state->rtcp;
	(void)begin_session(ep, now); /* whose rates were good before */
}

void endpoint_rtcp_close(struct endpoint *ep)
{
	if (!ep->rtcp)
		return;
	(void)pthread_mutex_destroy(&ep->rtcp->lock);
	destination_fini(&ep->rtcp->signalled);
	free(ep->rtcp);
	ep->rtcp = NULL;
}

void endpoint_rtcp_use(struct endpoint *ep, const struct endpoint_rtcp_use *use)
{
	struct endpoint_rtcp *r = ep->rtcp;

	if (!r)
		return;
	atomic_store_explicit(&r->rate_in, use->rate_in, memory_order_relaxed);
	atomic_store_explicit(&r->rate_out, use->rate_out,
			      memory_order_relaxed);
	if (use->ssrc)
		atomic_store_explicit(&r->ssrc, use->ssrc,
				      memory_order_relaxed);
}

/* The receiver takes what was said of the stream. */
static void take_use(struct endpoint_rtcp *r)
{
	struct rtcp_session *s = &r->kept->session;
	uint32_t in = atomic_load_explicit(&r->rate_in, memory_order_relaxed);
	uint32_t out = atomic_load_explicit(&r->rate_out, memory_order_relaxed);
	bool mux = atomic_load_explicit(&r->agreed, memory_order_relaxed);
	struct sockaddr_storage signalled;

	s->cfg.ssrc = atomic_load_explicit(&r->ssrc, memory_order_relaxed);
	if (in != s->cfg.rate_in || out != s->cfg.rate_out)
		(void)rtcp_session_set_rates(s, in, out);
	if (mux != r->mux) {
		/* what came before came to the other port */
		r->mux = mux;
		for (unsigned i = 0; i < NPEERS; i++)
			r->kept->peer[i].from.ss_family = AF_UNSPEC;
	}
	/* its RTCP need not come from where it did once another place is
	 * signalled */
	if (destination_changed(&r->signalled, r->signalled_version)) {
		r->signalled_version =
			destination_read(&r->signalled, &signalled);
		r->kept->peer[PARTY].from.ss_family = AF_UNSPEC;
	}
}

void endpoint_rtcp_set_destination(struct endpoint *ep,
				   const struct sockaddr_storage *to)
{
	struct sockaddr_storage now;

	if (!ep->rtcp)
		return;
	(void)destination_read(&ep->rtcp->signalled, &now);
	if (!address_equal(&now, to))
		destination_set(&ep->rtcp->signalled, to);
}

void endpoint_rtcp_mux(struct endpoint *ep, bool agreed)
{
	if (ep->rtcp && ep->rtcp->cfg.mode == ENDPOINT_RTCP_PORT)
		atomic_store_explicit(&ep->rtcp->agreed, agreed,
				      memory_order_relaxed);
}

struct rtcp_sent *endpoint_rtcp_sent(const struct endpoint *ep)
{
	return ep->rtcp ? &ep->rtcp->kept->stream : NULL;
}

/* --- RTCP: reports to control --- */

static cr_ns of_ticks(uint64_t ticks, uint32_t rate)
{
	return (cr_ns)(ticks * (uint64_t)CR_SEC / rate);
}

/* The receiver, or who has the endpoint after it. */
static void report_session(struct endpoint_rtcp *r)
{
	const struct rtcp_session *s = &r->kept->session;
	struct endpoint_rtcp_info info = {
		.heard = s->heard.source.started,
		.ssrc = s->heard.ssrc,
		.received = reception_received(&s->heard),
		.lost = reception_lost(&s->heard),
		.jitter = reception_jitter(&s->heard),
		.packets_in = s->packets_in,
		.octets_in = s->octets_in,
		.packets_out = r->kept->sent,
		.foreign = r->kept->foreign,
		.byes = s->byes,
		.unsent = r->kept->unsent,
	};
	const struct feedback *f = &r->kept->session.far;
	uint32_t rate = r->kept->session.cfg.rate_out;

	for (unsigned i = 0; i < RTCP_NREASONS; i++)
		info.refused += s->refused[i];
	info.reports = f->reports;
	info.lost_share = (double)f->fraction.last / 256;
	info.lost_mean = f->fraction.n ? (double)f->fraction.sum / 256 /
						 (double)f->fraction.n
				       : 0;
	info.lost_total = f->lost;
	info.far_jitter = of_ticks(f->jitter.last, rate);
	info.round_trips = f->rtt.n;
	info.rtt = (cr_ns)f->rtt.last;
	info.rtt_mean = (cr_ns)feedback_mean(&f->rtt);
	info.rtt_min = (cr_ns)f->rtt.min;
	info.rtt_max = (cr_ns)f->rtt.max;
	(void)pthread_mutex_lock(&r->lock);
	r->info = info;
	(void)pthread_mutex_unlock(&r->lock);
	r->report_at = CR_NEVER;
}

void endpoint_rtcp_news(struct endpoint *ep, cr_ns now)
{
	cr_ns at = now + NEWS + NEWS_SHARED;

	take_use(ep->rtcp);
	ep->rtcp->report_at = at - at % NEWS_SHARED;
	endpoint_wait(ep, ENDPOINT_OWN,
		      cr_ns_min(ep->due[ENDPOINT_OWN], ep->rtcp->report_at));
}

void endpoint_rtcp_report(struct endpoint *ep, bool last,
			  struct endpoint_rtcp_info *out)
{
	struct endpoint_rtcp *r = ep->rtcp;

	if (last && endpoint_polls_ended(ep))
		report_session(r);
	(void)pthread_mutex_lock(&r->lock);
	*out = r->info;
	(void)pthread_mutex_unlock(&r->lock);
}

/* --- RTCP: addresses --- */

static bool has_host(const struct sockaddr_storage *a,
		     const struct sockaddr_storage *from)
{
	return a->ss_family && address_same_host(a, from);
}

/* May peer @i send from the host of @from? */
static bool is_host_of(const struct endpoint *ep, unsigned i,
		       const struct sockaddr_storage *from)
{
	const struct learn *learn = &ep->learn;
	struct sockaddr_storage to, signalled;

	if (i == LISTENER)
		return has_host(&ep->rtcp->cfg.listener, from);
	(void)destination_read(&ep->to, &to);
	(void)destination_read(&ep->rtcp->signalled, &signalled);
	return has_host(&to, from) || has_host(&signalled, from) ||
	       has_host(&learn->terms.signalled, from) ||
	       (learn->known && has_host(&learn->at, from));
}

/* Is @rtp, where the party is, at the host that was signalled? Behind NAT it is
 * not, and what was signalled for RTCP is as wrong. */
static bool is_as_signalled(struct endpoint *ep,
			    const struct sockaddr_storage *rtp)
{
	bool signalled;

	(void)pthread_mutex_lock(&ep->lock);
	signalled = has_host(&ep->terms.signalled, rtp);
	(void)pthread_mutex_unlock(&ep->lock);
	return signalled;
}

/* The signalled destination, if it is of use. */
static bool signalled_destination(struct endpoint *ep,
				  const struct sockaddr_storage *rtp,
				  struct sockaddr_storage *to)
{
	(void)destination_read(&ep->rtcp->signalled, to);
	return to->ss_family && !ep->rtcp->mux &&
	       (!rtp->ss_family || is_as_signalled(ep, rtp));
}

/* The address for reports to peer @i, and the socket. False: nowhere yet. The
 * party may have moved since its RTCP came. */
static bool destination_to(struct endpoint *ep, unsigned i,
			   struct sockaddr_storage *to, int *fd)
{
	const struct endpoint_rtcp *r = ep->rtcp;
	const struct state_rtcp_peer *peer = &r->kept->peer[i];
	struct sockaddr_storage rtp;
	bool known = peer->from.ss_family && is_host_of(ep, i, &peer->from);

	*fd = r->mux ? ep->cfg.fd : r->cfg.fd;
	rtp = r->cfg.listener;
	if (i == PARTY)
		(void)destination_read(&ep->to, &rtp);
	if (i == PARTY && (!known || peer->mux) &&
	    signalled_destination(ep, &rtp, to))
		return true;
	if (known) {
		*to = peer->from;
		*fd = peer->mux ? ep->cfg.fd : r->cfg.fd;
		return true;
	}
	*to = rtp;
	if (to->ss_family && !r->mux)
		address_set_port(to, address_port(to) + 1);
	return to->ss_family != 0;
}

/* --- RTCP: what comes --- */

/* Add the far side's reports since @before. */
static void sum_up_reports(struct endpoint_rtcp *r,
			   const struct feedback *before)
{
	const struct feedback *f = &r->kept->session.far;

	if (!r->sums || f->reports == before->reports)
		return;
	counter_add(&r->sums->reports, f->reports - before->reports);
	counter_add(&r->sums->lost_256, f->fraction.sum - before->fraction.sum);
	histogram_add(&r->sums->jitter,
		      of_ticks(f->jitter.last, r->kept->session.cfg.rate_out));
	if (f->rtt.n != before->rtt.n)
		histogram_add(&r->sums->round_trip, (cr_ns)f->rtt.last);
}

enum endpoint_rtcp_result endpoint_rtcp_packet(struct endpoint *ep,
					       const struct intake_packet *in,
					       bool mux)
{
	struct endpoint_rtcp *r = ep->rtcp;
	struct feedback before;
	unsigned i = PARTY;

	if (r->report_at == CR_NEVER)
		endpoint_rtcp_news(ep, in->arrival);
	while (i < NPEERS && !is_host_of(ep, i, in->from))
		i++;
	if (i == NPEERS) {
		r->kept->foreign++;
		return ENDPOINT_RTCP_FOREIGN;
	}
	take_use(r);
	before = r->kept->session.far;
	if (rtcp_heard(&r->kept->session, in->data, in->bytes, in->arrival))
		return ENDPOINT_RTCP_REFUSED;
	sum_up_reports(r, &before);
	r->kept->peer[i].from = *in->from;
	r->kept->peer[i].mux = mux;
	return ENDPOINT_RTCP_HEARD;
}

/* --- RTCP: what goes --- */

static void send_rtcp_to(struct endpoint_rtcp *r, int fd, const uint8_t *data,
			 size_t n, const struct sockaddr_storage *to)
{
	if (sendto(fd, data, n, MSG_DONTWAIT, (const struct sockaddr *)to,
		   address_length(to)) < 0) {
		r->kept->unsent++;
		return;
	}
	r->kept->sent++;
	if (r->sums)
		counter_add(&r->sums->sent, 1);
}

struct destinations {
	unsigned n;
	struct sockaddr_storage to[NPEERS];
	int fd[NPEERS];
};

static void find_destinations(struct endpoint *ep, struct destinations *d)
{
	d->n = 0;
	for (unsigned i = 0; i < NPEERS; i++)
		if (destination_to(ep, i, &d->to[d->n], &d->fd[d->n]) &&
		    (!d->n || !address_equal(&d->to[0], &d->to[1])))
			d->n++;
}

static void send_to_peers(struct endpoint_rtcp *r, const struct destinations *d,
			  const uint8_t *data, size_t n)
{
	for (unsigned i = 0; i < d->n && n; i++)
		send_rtcp_to(r, d->fd[i], data, n, &d->to[i]);
}

cr_ns endpoint_rtcp_poll(struct endpoint *ep, cr_ns now)
{
	struct endpoint_rtcp *r = ep->rtcp;
	uint8_t data[RTCP_BUILD_BYTES];
	struct destinations d;

	if (now >= r->report_at)
		report_session(r);
	if (now < rtcp_due(&r->kept->session))
		return cr_ns_min(rtcp_due(&r->kept->session), r->report_at);
	take_use(r);
	find_destinations(ep, &d);
	if (!d.n)
		return cr_ns_min(now + NOBODY, r->report_at);
	send_to_peers(r, &d, data,
		      rtcp_build(&r->kept->session, data, now,
				 clock_read(CLOCK_REALTIME)));
	if (r->report_at == CR_NEVER)
		endpoint_rtcp_news(ep, now);
	return cr_ns_min(rtcp_due(&r->kept->session), r->report_at);
}

void endpoint_rtcp_bye(struct endpoint *ep, cr_ns now)
{
	struct endpoint_rtcp *r = ep->rtcp;
	uint8_t data[RTCP_BUILD_BYTES];
	struct destinations d;

	if (!r)
		return;
	r->sums = NULL; /* its receiver's */
	take_use(r);
	find_destinations(ep, &d);
	send_to_peers(r, &d, data,
		      rtcp_bye(&r->kept->session, data, now,
			       clock_read(CLOCK_REALTIME), NULL));
}
