/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that outlive the process: what is kept of them, and how a new process
 * goes on.
 */
#include "node/restore.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "node/node_impl.h"
#include "observe/log.h"
#include "observe/store.h"

/* A call in which the process has died goes on for so long, and the next death
 * is another one. */
#define CRASH_MEMORY (10 * CR_SEC)

/* Files of --crash-dir: their ends, and how many there may be. */
#define SAVED ".payload"
enum { SAVED_MAX = 100 };

const char *node_call_name(char buf[NODE_HELD_NAME], uint32_t call, unsigned i)
{
	(void)snprintf(buf, NODE_HELD_NAME, "call-%" PRIu32 "-%u", call, i);
	return buf;
}

const char *node_endpoint_name(char buf[NODE_HELD_NAME], uint32_t endpoint)
{
	(void)snprintf(buf, NODE_HELD_NAME, "end-%" PRIu32, endpoint);
	return buf;
}

bool node_keeps(const struct node *n)
{
	return n->cfg.state != NULL;
}

/* --- while a call runs --- */

static void stream_past(const struct node_stream *st, struct stream_past *out)
{
	const struct stream_cfg *cfg = node_stream_settings(st);
	const struct node_endpoint *in = st->call->endpoint[st->number];
	socklen_t len = sizeof(out->at);

	*out = (struct stream_past){ .ssrc_in = cfg->ssrc_in,
				     .ssrc_out = cfg->ssrc_out,
				     .endpoint = in ? in->id : 0 };
	(void)getsockname(in ? in->ports.rtp : st->node->fd[0],
			  (struct sockaddr *)&out->at, &len);
	if (cfg->in_endpoint)
		out->terms = atomic_load_explicit(&cfg->in_endpoint->version,
						  memory_order_relaxed);
	if (st->cost) {
		out->mean = st->cost->cost.mean;
		out->p99 = st->cost->cost.p99;
	}
}

struct node_call *node_call_moved_here(struct node *n,
				       const struct call_past *past)
{
	struct node_call *c = NULL;

	while ((c = node_call_after(n, c ? c->id : 0)))
		if (c->from == past->id &&
		    c->stream[0]->started_utc == past->started_utc &&
		    c->stream[0]->node_utc == past->node_utc)
			break;
	return c;
}

void node_call_past(const struct node_call *c, struct call_past *out)
{
	*out = (struct call_past){
		.id = c->id,
		.started_utc = c->stream[0]->started_utc,
		.node_utc = c->stream[0]->node_utc,
		.from = c->from,
	};
	for (unsigned i = 0; i < c->nstreams; i++)
		stream_past(c->stream[i], &out->stream[i]);
}

void node_endpoint_past(const struct node_endpoint *ep, struct call_past *out)
{
	socklen_t len = sizeof(out->stream[0].at);

	*out = (struct call_past){
		.stream[0] = {
			.endpoint = ep->id,
			.terms = atomic_load_explicit(&ep->endpoint->version,
						      memory_order_relaxed),
		},
	};
	(void)getsockname(ep->ports.rtp, (struct sockaddr *)&out->stream[0].at,
			  &len);
}

void node_call_records(const struct node_call *c, cr_ns shift,
		       char out[STATE_RECORDS_TEXT])
{
	state_records_write(c->slot, shift, out);
}

bool node_call_kept(const struct node_call *c, char *out)
{
	return c->slot && state_get_text(c->slot, out);
}

static int hold_ports(const struct node_endpoint *ep, const char *name)
{
	return store_put(ep->node->cfg.store, name, &ep->ports.rtp,
			 ep->ports.rtcp >= 0 ? 2 : 1);
}

/* The sockets of its ends, but for those that were opened by themselves. */
static int hold_sockets(const struct node_call *c)
{
	int err = 0;

	for (unsigned i = 0; i < 2 && !err; i++) {
		const struct node_endpoint *ep = c->endpoint[i];
		char name[NODE_HELD_NAME];

		if (ep && !ep->slot)
			err = hold_ports(ep, node_call_name(name, c->id, i));
	}
	return err;
}

int node_call_keep(struct node_call *c, const char *text, size_t bytes)
{
	char former[STATE_TEXT_MAX + 1];
	int err;

	if (!c->slot)
		return -ENOENT;
	c->node->texts++;
	/* sockets stay as they are when a call changes */
	err = state_get_text(c->slot, former) ? 0 : hold_sockets(c);
	return err ? err : state_put_text(c->slot, text, bytes);
}

int node_endpoint_keep(struct node_endpoint *ep, const char *text, size_t bytes)
{
	char former[STATE_TEXT_MAX + 1], name[NODE_HELD_NAME];
	int err = 0;

	if (!ep->slot)
		return -ENOENT;
	ep->node->texts++;
	if (!state_get_text(ep->slot, former))
		err = hold_ports(ep, node_endpoint_name(name, ep->id));
	return err ? err : state_put_text(ep->slot, text, bytes);
}

void node_endpoint_forget(const struct node_endpoint *ep)
{
	char name[NODE_HELD_NAME];

	if (!ep->slot || ep->node->cfg.arrives)
		return;
	ep->node->texts++;
	state_slot_end(ep->slot);
	store_remove(ep->node->cfg.store, node_endpoint_name(name, ep->id));
}

int node_note_keep(struct node *n, struct state_slot **slot, const char *text,
		   size_t bytes)
{
	n->texts++;
	if (!*slot && n->cfg.state)
		*slot = state_slot_take(n->cfg.state);
	return *slot ? state_put_text(*slot, text, bytes) : -ENOENT;
}

void node_note_forget(struct node *n, struct state_slot *slot)
{
	if (!slot || n->cfg.arrives)
		return;
	n->texts++;
	state_slot_end(slot);
	state_slot_give(n->cfg.state, slot);
}

void node_note_leave(struct node *n, struct state_slot *slot)
{
	state_slot_give(n->cfg.state, slot);
}

static void release_sockets(struct node *n, uint32_t call)
{
	char name[NODE_HELD_NAME];

	for (unsigned i = 0; i < 2; i++)
		store_remove(n->cfg.store, node_call_name(name, call, i));
}

void node_call_forget(const struct node_call *c)
{
	if (!c->slot || c->node->cfg.arrives)
		return;
	c->node->texts++;
	state_slot_end(c->slot);
	release_sockets(c->node, c->id);
}

/* The party that a stream has heard, if its terms have not changed since. */
static bool read_heard(const struct state_stream *kept, unsigned terms,
		       struct sockaddr_storage *from, struct state_heard *was)
{
	if (!state_get_heard(kept, was) || was->terms != terms)
		return false;
	*from = (struct sockaddr_storage){ 0 };
	memcpy(from, was->address, sizeof(was->address));
	return from->ss_family == AF_INET || from->ss_family == AF_INET6;
}

/* What was sent after the record was copied is not known: packets of 10 ms at
 * most, and of no more than a receiver takes for a gap (RFC 3550, A.1). */
static unsigned seq_jump(cr_ns sent_at)
{
	enum { DROPOUT_MOST = 2500 };
	const cr_ns n = 1 + (clock_now() - sent_at) / (10 * CR_MS);

	return (unsigned)cr_ns_min(cr_ns_max(n, 1), DROPOUT_MOST);
}

/* Run @p over what @r has of the speech before it goes on: neither codec is
 * heard to begin then. Decoders need more of it than encoders do
 * (tests/bench/loss --seam), which cost more. */
static void warm_codecs(struct pipeline *p, const struct state_recent *r)
{
	enum { ENCODED = 1 };
	struct pipeline_scratch *s = malloc(sizeof(*s));

	for (unsigned ago = STATE_RECENT; s && ago--;) {
		size_t bytes;
		const uint8_t *payload =
			state_recent_payload(r, ago, true, &bytes);

		if (payload)
			pipeline_warm(p, s, payload, bytes, ago < ENCODED);
	}
	free(s);
}

/* @st goes on by what its slot has. */
static void go_on_from_slot(const struct node_stream *st, enum restore_how how)
{
	struct transcoder *c = node_stream_transcoder(st);
	struct stream *s = st->stream;
	struct sockaddr_storage from;
	struct state_heard heard;
	struct state_sent was;

	if (state_get_sent(s->out.state, &was) && was.at) {
		if (how != RESTORE_HELD && c && c->buffers)
			was.seq = (uint16_t)(was.seq + seq_jump(was.at));
		stream_resume(s, &was);
	}
	if (c && st->node->cfg.arrives)
		warm_codecs(c->pipeline, &s->out.state->recent);
	/* the shared port's terms do not change */
	if (!s->cfg.in_endpoint && read_heard(s->out.state, 0, &from, &heard)) {
		c->source = from;
		c->source_known = true;
	}
}

/* @st writes to its slot. */
static void use_slot(const struct node_stream *st)
{
	struct state_stream *kept = &st->call->slot->stream[st->number];

	st->stream->out.state = kept;
	st->stream->account = &kept->account;
}

void node_keep_stream(const struct node_stream *st)
{
	const struct call_past *past = st->node->restoring;

	if (node_restores_ahead(st->node))
		return;
	use_slot(st);
	if (past)
		go_on_from_slot(st, past->how);
}

/* Packets that the party is said to have sent, a while ago, until it leads. */
static void hear_again(struct endpoint *endpoint,
		       const struct sockaddr_storage *from,
		       const struct state_heard *was)
{
	enum { STEPS = LEARN_LEAD + LEARN_PROOF };
	const cr_ns now = clock_now();

	for (unsigned i = STEPS; i--;) {
		const struct learn_arrival p = {
			.from = from,
			.ssrc = was->ssrc,
			.seq = (uint16_t)(was->seq - i),
			.valid = true,
		};

		(void)endpoint_receive(endpoint, &p,
				       now - (cr_ns)(i + 1) * LEARN_SLOT);
	}
}

/* @endpoint has heard what its slot says. */
static void hear_from_slot(struct endpoint *endpoint)
{
	const struct state_stream *kept = endpoint->cfg.state;
	unsigned long long count[LEARN_NCOUNTERS];
	struct sockaddr_storage from;
	struct state_heard was;

	for (unsigned k = 0; k < LEARN_NCOUNTERS; k++)
		count[k] = atomic_load_explicit(&kept->learned[k],
						memory_order_relaxed);
	if (read_heard(kept, endpoint->terms_version, &from, &was))
		hear_again(endpoint, &from, &was);
	learn_set_counts(&endpoint->learn, count);
}

void node_restore_heard(const struct node *n, struct endpoint *endpoint)
{
	const unsigned terms = n->restoring->stream[n->restoring->end].terms;

	/* what is heard from now on is of these terms */
	endpoint->terms_version = terms;
	atomic_store_explicit(&endpoint->version, terms, memory_order_relaxed);
	if (endpoint->cfg.state)
		hear_from_slot(endpoint);
}

/* Its call is complete, or it has none: its ports are read. */
static void begin_hearing(const struct node_endpoint *ep)
{
	struct cr_err e = { "" };

	if (receivers_begin_endpoint(ep->node->receivers, ep->endpoint, &e))
		log_event(LOG_ERROR, "call-not-heard",
			  LOG_INT("endpoint", ep->id), LOG_STR("why", e.text));
}

void node_call_hear(const struct node_call *c)
{
	for (unsigned i = 0; i < 2 && !c->node->cfg.arrives; i++)
		if (c->endpoint[i])
			begin_hearing(c->endpoint[i]);
}

/* @ep writes to @kept, and goes on by it. */
static void use_kept(const struct node_endpoint *ep, struct state_stream *kept)
{
	state_slot_hold(ep->node->cfg.state, kept);
	endpoint_keep(ep->endpoint, kept, clock_now());
	hear_from_slot(ep->endpoint);
}

void node_endpoint_go_on(struct node_endpoint *ep)
{
	use_kept(ep, &ep->slot->stream[0]);
	begin_hearing(ep);
}

void node_call_go_on(struct node_call *c)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct node_endpoint *ep = c->endpoint[i];

		if (ep)
			use_kept(ep, ep->slot ? &ep->slot->stream[0]
					      : &c->slot->stream[i]);
	}
	for (unsigned i = 0; i < c->nstreams; i++) {
		const struct node_endpoint *out = node_call_out_endpoint(c, i);

		use_slot(c->stream[i]);
		if (out)
			c->stream[i]->stream->cfg.tally =
				endpoint_rtcp_sent(out->endpoint);
		go_on_from_slot(c->stream[i], RESTORE_HELD);
	}
	for (unsigned i = 0; i < 2; i++)
		if (c->endpoint[i])
			begin_hearing(c->endpoint[i]);
}

/* --- a new process --- */

bool node_restore_next(struct node *n, unsigned *at, struct state_slot **slot,
		       char *out)
{
	while (n->cfg.state && (*slot = state_slot_at(n->cfg.state, (*at)++))) {
		*out = '\0';
		if (state_get_text(*slot, out) || state_slot_is_damaged(*slot))
			return true;
		state_slot_give(n->cfg.state, *slot);
	}
	return false;
}

bool node_restore_look(const struct node *n, unsigned i, uint64_t *version,
		       char *out)
{
	const struct state_slot *slot;

	state_memory_look(n->cfg.state, i);
	slot = state_slot_seen(n->cfg.state, i);
	if (!slot)
		return false;
	/* first: a text that is written meanwhile has another one */
	*version = state_version(slot).text;
	if (*version && !state_get_text(slot, out))
		*version = 0;
	return true;
}

struct state_slot *node_restore_at(struct node *n, unsigned i)
{
	struct state_slot *slot = state_slot_at(n->cfg.state, i);

	state_slot_touch(slot);
	return slot;
}

struct state_slot *node_foreign_slot(struct node *n, const char *records,
				     cr_ns shift)
{
	struct state_slot *slot =
		n->cfg.state ? state_slot_take(n->cfg.state) : NULL;

	/* without them it goes on as it begins */
	if (slot && records)
		(void)state_records_read(slot, records, shift);
	return slot;
}

/* Of a call, or an endpoint, that another machine had. */
static int check_ids(struct node *n, const struct call_past *past,
		     struct cr_err *e)
{
	const uint32_t streams = past->stream[1].at.ss_family ? 2 : 1;

	for (uint32_t i = 0; i < streams; i++) {
		const struct node_stream *st =
			past->id ? node_stream_after(n, past->id + i - 1)
				 : NULL;

		if (st && st->id == past->id + i)
			return cr_fail(e, -EEXIST,
				       "its id %" PRIu32 " is in use here",
				       st->id);
		if (node_endpoint_find(n, past->stream[i].endpoint))
			return cr_fail(e, -EEXIST,
				       "the id %" PRIu32
				       " of an endpoint is in use here",
				       past->stream[i].endpoint);
	}
	return 0;
}

/* How many files of saved payloads @dir has; -errno. */
static int count_saved(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *one;
	int count = 0;

	if (!d)
		return -errno;
	while ((one = readdir(d)))
		count += strstr(one->d_name, SAVED) != NULL;
	(void)closedir(d);
	return count;
}

/* The payload of stream @i, in which the process has died. */
static void save_payload(const struct node *n, const struct call_past *past,
			 unsigned i)
{
	size_t bytes = 0;
	const uint8_t *payload = state_recent_payload(
		&past->slot->stream[i].recent, 0, false, &bytes);
	char path[PATH_MAX];
	int fd = -1, count = count_saved(n->cfg.crash_dir);

	(void)snprintf(path, sizeof(path),
		       "%s/call-%" PRIu32 "-%u-%" PRId64 SAVED,
		       n->cfg.crash_dir, past->id, i,
		       clock_read(CLOCK_REALTIME) / CR_MS);
	errno = count < 0 ? -count : EDQUOT;
	if (count >= 0 && count < SAVED_MAX)
		fd = open(path,
			  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			  0600);
	if (fd < 0 || write(fd, payload, bytes) != (ssize_t)bytes)
		log_event(LOG_WARN, "payload-not-saved",
			  LOG_INT("call", past->id), LOG_STR("path", path),
			  LOG_STR("why", strerror(errno)));
	else
		log_event(LOG_WARN, "payload-saved", LOG_INT("call", past->id),
			  LOG_INT("bytes", bytes), LOG_STR("path", path));
	if (fd >= 0)
		(void)close(fd);
}

int node_restore_as(struct node *n, struct call_past *past, struct cr_err *e)
{
	const cr_ns now = clock_read(CLOCK_REALTIME);
	bool worked = false;

	n->restoring = past;
	past->last_id = past->id - 1;
	if (past->how == RESTORE_MOVED)
		return 0;
	if (past->how == RESTORE_TAKEOVER && check_ids(n, past, e))
		return -EEXIST;
	/* in a process that lives, workers are at work */
	for (unsigned i = 0; i < 2 && !n->cfg.arrives; i++) {
		if (!past->slot->stream[i].working)
			continue;
		worked = true;
		past->slot->stream[i].working = 0;
		if (n->cfg.crash_dir)
			save_payload(n, past, i);
	}
	if (!worked)
		return 0;
	if (now - past->crashed_utc > CRASH_MEMORY)
		past->crashes = 0;
	past->crashes++;
	past->crashed_utc = now;
	return 0;
}

void node_restored(struct node *n, const struct call_past *past, bool is)
{
	char name[NODE_HELD_NAME];

	n->restoring = NULL;
	if (is)
		return;
	/* those of another machine have names here that may be ours; else the
	 * other process goes on with it */
	if (past->how == RESTORE_HELD && past->id && !n->cfg.arrives)
		release_sockets(n, past->id);
	else if (past->how == RESTORE_HELD && !n->cfg.arrives)
		store_remove(
			n->cfg.store,
			node_endpoint_name(name, past->stream[0].endpoint));
	if (!n->cfg.arrives)
		state_slot_end(past->slot);
	if (!past->slot_owned)
		state_slot_give(n->cfg.state, past->slot);
}

void node_close_unclaimed(struct node *n)
{
	struct node_endpoint *ep = NULL;

	while ((ep = node_endpoint_after(n, ep ? ep->id : 0)))
		if (!ep->opened && !ep->call)
			node_endpoint_disown(ep);
}

int node_restored_all(struct node *n, struct cr_err *e)
{
	struct node_endpoint *ep = NULL;

	node_close_unclaimed(n);
	while ((ep = node_endpoint_after(n, ep ? ep->id : 0)))
		begin_hearing(ep);
	return node_keeps(n) ? receivers_listen(n->receivers, n->fd, e) : 0;
}

void node_restore_end(struct node *n, unsigned i)
{
	if (n->restoring)
		n->restoring->end = i;
}

int node_restore_at_shared(const struct node *n, struct cr_err *e)
{
	struct sockaddr_storage at = { .ss_family = AF_UNSPEC };
	socklen_t len = sizeof(at);
	char was[64], is[64];

	/* in an upgrade, the options may be others */
	if (!n->restoring ||
	    (n->restoring->how != RESTORE_TAKEOVER && !n->cfg.arrives))
		return 0;
	(void)getsockname(n->fd[0], (struct sockaddr *)&at, &len);
	if (address_equal(&at, &n->restoring->stream[0].at))
		return 0;
	return cr_fail(
		e, -EADDRNOTAVAIL,
		"its party sends to %s, and --rtp of this node is %s",
		address_text(&n->restoring->stream[0].at, was, sizeof(was)),
		address_text(&at, is, sizeof(is)));
}

/* The sockets that were held. */
static int take_held_ports(struct node_endpoint *ep, bool rtcp,
			   struct cr_err *e)
{
	struct node *n = ep->node;
	const struct call_past *past = n->restoring;
	struct sockaddr_storage at = { .ss_family = AF_UNSPEC };
	socklen_t len = sizeof(at);
	struct port_pair ports = { .rtcp = -1 };
	char name[NODE_HELD_NAME];
	int fd[2] = { -1, -1 };
	int had = store_take(
		n->cfg.store,
		past->id ? node_call_name(name, past->id, past->end)
			 : node_endpoint_name(name, past->stream[0].endpoint),
		fd, 2);

	if (had == (rtcp ? 2 : 1) &&
	    !getsockname(fd[0], (struct sockaddr *)&at, &len)) {
		ports.rtp = fd[0];
		ports.rtcp = rtcp ? fd[1] : -1;
		ports.port = address_port(&at);
		if (port_pair_adopt(ep->interface->ports, &ports)) {
			ep->ports = ports;
			return 0;
		}
	}
	while (had > 0)
		(void)close(fd[--had]);
	return cr_fail(e, -ENOENT, "its port was not held");
}

int node_restore_ports(struct node_endpoint *ep, bool rtcp, struct cr_err *e)
{
	const struct call_past *past = ep->node->restoring;

	if (past->how == RESTORE_HELD)
		return take_held_ports(ep, rtcp, e);
	if (past->how == RESTORE_MOVED)
		return port_pair_open(ep->interface->ports, rtcp, &ep->ports,
				      e);
	return port_pair_open_at(ep->interface->ports,
				 address_port(&past->stream[past->end].at),
				 rtcp, &ep->ports, e);
}

unsigned node_restore_shared(struct node *n, int *fd)
{
	struct sockaddr_storage at = { .ss_family = AF_UNSPEC },
				want = n->cfg.rtp;
	socklen_t len = sizeof(at);
	int had;

	if (!n->cfg.store)
		return 0;
	had = store_take(n->cfg.store, "rtp", fd, NODE_RECEIVERS_MAX);
	if (had <= 0)
		return 0;
	(void)getsockname(fd[0], (struct sockaddr *)&at, &len);
	if (!address_port(&want))
		address_set_port(&want, address_port(&at));
	if (address_equal(&at, &want))
		return (unsigned)had;
	while (had)
		(void)close(fd[--had]);
	return 0;
}
