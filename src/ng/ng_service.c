/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and their answers; commands beside offer and answer, and how calls
 * end.
 *
 *   asked -> read -> done ----------------------> answered
 *                     |  what does it cost?  ^
 *                     +-> wait, do it again -+
 */
#include "ng/ng_service.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ng/ng_service_impl.h"
#include "node/restore.h"
#include "observe/log.h"
#include "protocol/service.h"
#include "rpc/jsonrpc.h"

/* An offer is old when such a part of the time has passed that it is waited
 * for: 38 s of the usual 10 minutes, and SIP's own transactions end before. */
enum { OLD = 16 };

/* A call with many lines may have to wait for several costs. */
enum { WAITS_MAX = 2 * SDP_LINES_MAX };

/* A request whose costs are being measured. */
struct ng_wait {
	LIST_ENTRY(ng_wait) link;
	struct ng_service *service;
	struct ng_asked *asked;
	json_t *body;
	struct node_cost_wait *needs; /* NULL: it has never waited */
	unsigned times;
	bool waits; /* for @needs */
	/* what it is about; texts are the body's */
	const char *call_id;
	struct ng_dialog_key key;
};

/* --- the life of calls --- */

void ng_call_signalled(struct ng_call *call)
{
	call->last_signalled = clock_read(CLOCK_REALTIME);
	call->silent = clock_now();
}

static void close_endpoints(void *arg, struct ng_side *s)
{
	struct ng_service *sv = arg;

	for (unsigned i = 0; i < SDP_LINES_MAX; i++)
		ng_endpoint_close(sv->node, &s->endpoint[i]);
}

void ng_dialog_ring(struct ng_service *sv, struct ng_dialog *d, bool rings)
{
	struct cr_err e;

	if (d->rings)
		TAILQ_REMOVE(&sv->ringing, d, ringing);
	d->rings = rings;
	d->offered = clock_now();
	if (rings)
		TAILQ_INSERT_TAIL(&sv->ringing, d, ringing);
	else if (d->due.share)
		(void)ng_due_ring(&sv->shares, &d->due, false, &e);
}

bool ng_end_oldest(struct ng_service *sv, const struct ng_dialog *d)
{
	const cr_ns before = clock_now() - sv->cfg.patience / OLD;
	struct ng_dialog *one, *found = NULL;
	unsigned most = 0;

	TAILQ_FOREACH (one, &sv->ringing, ringing) {
		/* a host that asks for more than others gives up first */
		unsigned n = 2 * ng_due_ringing(&one->due) +
			     (one->due.share == d->due.share);

		if (one->offered > before)
			break;
		if (one->call == d->call || n <= most)
			continue;
		most = n;
		found = one;
	}
	if (!found)
		return false;
	log_event(LOG_WARN, "ng-displaced", LOG_STR("call", found->call->id),
		  LOG_STR("by", d->call->id),
		  LOG_INT("s", (clock_now() - found->offered) / CR_SEC));
	sv->count.unanswered++;
	ng_end_dialog(sv, found, NODE_END_SILENT, NULL);
	return true;
}

void ng_end_dialog(struct ng_service *sv, struct ng_dialog *d,
		   enum node_end why, const struct node_who *who)
{
	struct ng_call *call = d->call;

	for (unsigned i = 0; i < d->nlines; i++) {
		ng_release(sv, &d->stream[i]);
		ng_stream_stop(sv->node, &d->stream[i], why, who);
	}
	ng_dialog_ring(sv, d, false);
	node_note_forget(sv->node, d->slot);
	ng_due_close(&sv->shares, &d->due);
	ng_dialog_free(d, close_endpoints, sv);
	if (LIST_EMPTY(&call->dialogs))
		ng_call_free(&sv->calls, call);
}

/* End all dialogs of @call, and it. */
static void ng_end_call(struct ng_service *sv, struct ng_call *call,
			enum node_end why)
{
	struct ng_dialog *d = LIST_FIRST(&call->dialogs), *next;

	for (; d; d = next) { /* the last one takes the call with it */
		next = LIST_NEXT(d, link);
		ng_end_dialog(sv, d, why, NULL);
	}
}

static bool is_answered(const struct ng_call *call)
{
	const struct ng_dialog *d;

	LIST_FOREACH(d, &call->dialogs, link)
	if (d->known)
		return true;
	return false;
}

/* --- answers --- */

/* Log each name that means nothing here once. */
static void count_unknown(struct ng_service *sv, const struct ng_request *r)
{
	for (unsigned i = 0; i < r->nunknown; i++) {
		unsigned k = 0;

		while (k < sv->nunknown &&
		       strcmp(sv->unknown[k], r->unknown[i]) != 0)
			k++;
		if (k < sv->nunknown ||
		    k == sizeof(sv->unknown) / sizeof(*sv->unknown))
			continue;
		(void)snprintf(sv->unknown[sv->nunknown++], NG_UNKNOWN_BYTES,
			       "%s", r->unknown[i]);
		log_event(LOG_INFO, "ng-unknown",
			  LOG_STR("what", r->unknown[i]));
	}
}

/* For want of room, of whatever kind. */
static bool is_out_of_room(int err)
{
	return err == -ENOSPC || err == -ENOMEM || err == -EMFILE ||
	       err == -ENFILE || err == -EADDRINUSE;
}

static json_t *failed(const struct cr_err *why)
{
	return ng_result("error", "error-reason", why->text);
}

/* Give @why words, if a failure for want of memory had none. */
static void in_words(int err, struct cr_err *why)
{
	if (!*why->text)
		(void)cr_fail(why, err, "%s", strerror(-err));
}

/* Proxies have a log of what they do, too: these are for a close look. */
static void audit_request(const struct ng_wait *wait,
			  const struct ng_request *r, const char *why)
{
	static struct log_site sites[NG_COMMANDS];
	char who[80], what[NG_NAME_MAX + 16];

	/* To ask, to list and to count changes nothing. */
	if (r->command == NG_PING || r->command == NG_QUERY ||
	    r->command == NG_LIST || r->command == NG_STATISTICS ||
	    !log_wants(LOG_DEBUG))
		return;
	(void)snprintf(who, sizeof(who), "ng:%s",
		       ng_asked_client(wait->asked)->text);
	(void)snprintf(what, sizeof(what), "call=%s",
		       r->call_id ? r->call_id : "");
	audit_log(&sites[r->command], LOG_DEBUG,
		  &(struct audit){ .who = who,
				   .did = ng_command_names[r->command],
				   .what = what,
				   .why = why });
}

static json_t *refusal(struct ng_service *sv, const struct ng_request *r,
		       int err, const struct cr_err *why)
{
	const struct ng_call *call;

	if (r->command == NG_OFFER && is_out_of_room(err)) {
		sv->count.load_limits++;
		log_event(LOG_INFO, "ng-load-limit",
			  LOG_STR("call", r->call_id),
			  LOG_STR("why", why->text));
		/* no other node can have a part of a call that goes on here */
		call = ng_call_find(&sv->calls, r->call_id);
		if (r->load_limit && !(call && is_answered(call)))
			return ng_result("load limit", "message", why->text);
	} else {
		sv->count.errors++;
		log_event(LOG_INFO, "ng-refused",
			  LOG_WORD("command", ng_command_names[r->command]),
			  LOG_STR("call", r->call_id ? r->call_id : ""),
			  LOG_STR("why", why->text));
	}
	return failed(why);
}

/* --- waits --- */

static void end_wait(struct ng_wait *wait, json_t *reply)
{
	LIST_REMOVE(wait, link);
	json_decref(wait->body);
	ng_answer(wait->asked, reply);
	free(wait->needs);
	free(wait);
}

/* Offers and answers of the call @call_id that wait for costs, and that a
 * delete of @key means, are refused. Were there any? */
static bool ng_forget_waits(struct ng_service *sv, const char *call_id,
			    const struct ng_dialog_key *key)
{
	const struct cr_err why = { "deleted before it was answered" };
	struct ng_wait *wait = LIST_FIRST(&sv->waits), *next;
	bool found = false;

	for (; wait; wait = next) {
		next = LIST_NEXT(wait, link);
		if (!wait->waits || strcmp(wait->call_id, call_id) != 0 ||
		    !ng_dialog_key_find(&wait->key, key))
			continue;
		found = true;
		node_cost_forget(sv->node, wait->needs);
		end_wait(wait, failed(&why));
	}
	return found;
}

/* --- commands --- */

/* Refuse a request for a call that there is not, or warn of it. */
static int not_found(struct ng_service *sv, struct cr_err *e)
{
	static const char text[] = "Call-ID not found or tags didn't match";

	if (sv->request.fatal || sv->request.command == NG_QUERY)
		return cr_fail(e, -ESRCH, "%s",
			       sv->request.command == NG_QUERY
				       ? "Unknown call-id"
				       : text);
	ng_warn(sv, "%s", text);
	return 0;
}

static int delete_(struct ng_service *sv, struct cr_err *e)
{
	const struct ng_request *r = &sv->request;
	struct ng_call *call = sv->call;
	struct ng_dialog *d = call ? LIST_FIRST(&call->dialogs) : NULL, *next;
	bool found = ng_forget_waits(sv, r->call_id, &r->key);
	const struct node_who who = { NODE_BY_PROXY, sv->client->text };

	if (call)
		ng_report_call(sv, call, &r->key, sv->reply);
	for (; d; d = next) {
		next = LIST_NEXT(d, link);
		if (!ng_dialog_matches(d, &r->key))
			continue;
		found = true;
		sv->count.deleted++;
		ng_end_dialog(sv, d, NODE_END_STOPPED, &who);
	}
	return found ? 0 : not_found(sv, e);
}

/* Is the reply complete? work_on() has begun it. */
static int reported_all(struct cr_err *e)
{
	if (!jsonrpc_lacked())
		return 0;
	return cr_fail(e, -ENOMEM, "out of memory for the answer");
}

static int query(struct ng_service *sv, struct cr_err *e)
{
	if (!sv->call)
		return not_found(sv, e);
	ng_report_call(sv, sv->call, &sv->request.key, sv->reply);
	return reported_all(e);
}

/* By UDP an answer may go to an address that was forged: no more than what one
 * frame of Ethernet holds. */
enum { LIST_BYTES = 1200, LIST_ITEM = 5 };

static int list(struct ng_service *sv, struct cr_err *e)
{
	struct ng_call *call = ng_call_first(&sv->calls);
	json_t *calls = json_array();
	size_t room = sv->client->datagram ? LIST_BYTES : SIZE_MAX;

	for (unsigned i = 0; call && i < sv->request.limit; i++) {
		if (strlen(call->id) + LIST_ITEM > room)
			break;
		room -= strlen(call->id) + LIST_ITEM;
		(void)json_array_append_new(calls,
					    json_string_nocheck(call->id));
		call = ng_call_next(call);
	}
	(void)json_object_set_new(sv->reply, "calls", calls);
	return reported_all(e);
}

static int statistics(struct ng_service *sv, struct cr_err *e)
{
	ng_report_statistics(sv, sv->reply);
	return reported_all(e);
}

static int ping(struct ng_service *sv, struct cr_err *e)
{
	(void)e;
	(void)json_object_set_new(sv->reply, "result", json_string("pong"));
	return 0;
}

/* One in a dialog that is there goes on. */
static int serve_offer(struct ng_service *sv, struct cr_err *e)
{
	if (service_draining(sv->cfg.service) && !sv->call)
		return cr_fail(e, -ENOSPC,
			       "draining: this node takes no new calls");
	return ng_offer(sv, e);
}

static int (*const ng_commands[NG_COMMANDS])(struct ng_service *sv,
					     struct cr_err *e) = {
	[NG_PING] = ping,
	[NG_OFFER] = serve_offer,
	[NG_ANSWER] = ng_answer_to,
	[NG_DELETE] = delete_,
	[NG_QUERY] = query,
	[NG_LIST] = list,
	[NG_STATISTICS] = statistics,
};

/* --- requests --- */

/* Do what @wait asks for; *@reply is the answer (NULL: out of memory). -EAGAIN:
 * there is none before it is known what the service lacks. */
static int work_on(struct ng_wait *wait, json_t **reply)
{
	struct ng_service *sv = wait->service;
	struct ng_request *r = &sv->request;
	struct cr_err e = { "" };
	int err;

	if (ng_request_read(r, wait->body, &e)) {
		sv->count.errors++;
		in_words(-ENOMEM, &e);
		*reply = failed(&e);
		return -EINVAL;
	}
	if (!wait->times) {
		sv->count.asked[r->command]++;
		count_unknown(sv, r);
		/* Its call, for a delete of that meanwhile. */
		wait->call_id = r->call_id;
		wait->key = r->key;
	}
	sv->client = ng_asked_client(wait->asked);
	sv->call = r->call_id ? ng_call_find(&sv->calls, r->call_id) : NULL;
	(void)jsonrpc_lacked(); /* reported_all() is to be of this reply */
	sv->reply = json_pack("{s:s}", "result", "ok");
	node_gather(sv->node); /* up to four ports for each line */
	err = sv->reply ? ng_commands[r->command](sv, &e) : -ENOMEM;
	if (err) {
		json_decref(sv->reply);
		sv->reply = NULL;
	}
	if (err && err != -EAGAIN) {
		in_words(err, &e);
		sv->reply = refusal(sv, r, err, &e);
	}
	if (sv->reply && *r->warning.text)
		(void)json_object_set_new(sv->reply, "warning",
					  ng_text(r->warning.text));
	if (err != -EAGAIN)
		audit_request(wait, r, err ? e.text : NULL);
	node_notify(sv->node);
	*reply = sv->reply;
	return err;
}

static void known(void *arg, int err, const struct cr_err *why);

/* Until the service has what it @lacks. 0, or -ENOMEM with @e. */
static int wait_for(struct ng_wait *wait, const struct node_cost_wait *lacks,
		    struct cr_err *e)
{
	if (!wait->needs)
		wait->needs = malloc(sizeof(*wait->needs));
	if (!wait->needs)
		return cr_fail(e, -ENOMEM, "out of memory");
	*wait->needs = *lacks;
	wait->needs->done = known;
	wait->needs->arg = wait;
	return node_cost_wait(wait->service->node, wait->needs, e);
}

/* Do it; if that has to wait, wait. */
static void retry_wait(struct ng_wait *wait)
{
	struct cr_err e = { "out of memory" };
	json_t *reply = NULL;
	int err = work_on(wait, &reply);

	if (err == -EAGAIN && ++wait->times > WAITS_MAX)
		err = cr_fail(&e, -EINVAL, "what it costs cannot be told");
	else if (err == -EAGAIN)
		err = wait_for(wait, &wait->service->lacks, &e) ? -ENOMEM
								: -EAGAIN;
	wait->waits = err == -EAGAIN;
	if (!wait->waits)
		end_wait(wait, reply ? reply : failed(&e));
}

static void known(void *arg, int err, const struct cr_err *why)
{
	struct ng_wait *wait = arg;

	if (err)
		end_wait(wait, failed(why));
	else
		retry_wait(wait);
}

static void answer_ng_request(void *arg, struct ng_asked *a, const json_t *body)
{
	struct ng_service *sv = arg;
	struct ng_wait *wait = calloc(1, sizeof(*wait));

	if (!wait) {
		ng_answer(a, NULL);
		return;
	}
	wait->service = sv;
	wait->asked = a;
	wait->body = json_incref((json_t *)(uintptr_t)body);
	LIST_INSERT_HEAD(&sv->waits, wait, link);
	retry_wait(wait);
}

/* --- time --- */

unsigned ng_service_pending(const struct ng_service *sv)
{
	struct ng_service *s = (struct ng_service *)(uintptr_t)sv;
	const struct ng_wait *wait;
	struct ng_call *call;
	unsigned n = 0;

	for (call = ng_call_first(&s->calls); call; call = ng_call_next(call))
		n += !is_answered(call);
	LIST_FOREACH(wait, &s->waits, link)
	n++;
	return n;
}

int ng_service_may_move(const struct ng_service *sv, struct cr_err *e)
{
	struct ng_service *s = (struct ng_service *)(uintptr_t)sv;
	struct ng_call *call;
	const struct ng_dialog *d;
	unsigned stay = 0;

	if (!LIST_EMPTY(&s->waits))
		return cr_fail(e, -EBUSY,
			       "an offer waits until it is measured what its "
			       "codecs cost: try again");
	for (call = ng_call_first(&s->calls); call; call = ng_call_next(call))
		LIST_FOREACH(d, &call->dialogs, link)
		{
			stay += !d->kept;
		}
	if (stay)
		return cr_fail(e, -EBUSY,
			       "%u dialogs of --ng are not kept (see "
			       "dialog-not-kept in the log), and cannot move "
			       "to another process; drain the node instead",
			       stay);
	return 0;
}

/* End a call that nobody hung up: no packet for long, or no answer, whatever is
 * said before that: it would be a call that is in no record. */
static void look_at_ng_call(struct ng_service *sv, struct ng_call *call,
			    cr_ns now)
{
	unsigned long long packets = ng_call_packets(sv, call);
	bool answered = is_answered(call);

	ng_take_samples(sv, call);
	if (answered && packets != call->packets)
		call->silent = now;
	call->packets = packets;
	if (now - call->silent <
	    (answered ? sv->cfg.silence : sv->cfg.patience))
		return;
	if (answered)
		sv->count.silent++;
	else
		sv->count.unanswered++;
	log_event(LOG_WARN, "ng-silent", LOG_STR("call", call->id),
		  LOG_INT("answered", answered),
		  LOG_INT("s", (now - call->silent) / CR_SEC));
	ng_end_call(sv, call, NODE_END_SILENT);
}

static void on_ng_service_tick(evutil_socket_t fd, short what, void *arg)
{
	struct ng_service *sv = arg;
	struct ng_call *call = ng_call_first(&sv->calls), *next;

	(void)fd, (void)what;
	for (; call; call = next) {
		next = ng_call_next(call);
		look_at_ng_call(sv, call, clock_now());
	}
}

/* --- life --- */

static void bound_limits(struct ng_service *sv,
			 const struct ng_service_config *cfg)
{
	struct ng_bounds *most = &sv->shares.most;

	sv->cfg.silence = cfg->silence ? cfg->silence : NG_SILENCE;
	sv->cfg.patience = cfg->patience ? cfg->patience : NG_PATIENCE;
	most->lines = cfg->most.lines ? cfg->most.lines : NG_LINES;
	most->lines_of_host = cfg->most.lines_of_host ? cfg->most.lines_of_host
						      : NG_HOST_LINES;
	most->offers_of_host = cfg->most.offers_of_host
				       ? cfg->most.offers_of_host
				       : NG_HOST_OFFERS;
	most->lines_of_call = cfg->most.lines_of_call ? cfg->most.lines_of_call
						      : NG_CALL_LINES;
}

/* The time between two looks for silent calls, at most and at least; and the
 * number of looks within the time that is waited. */
#define TICK_MIN (50 * CR_MS)
#define TICK_MAX (5 * CR_SEC)
enum { TICKS = 4 };

static int set_ticks(struct ng_service *sv)
{
	cr_ns each = cr_ns_min(sv->cfg.silence, sv->cfg.patience) / TICKS;
	struct timeval tv;

	each = cr_ns_max(TICK_MIN, cr_ns_min(each, TICK_MAX));
	tv = (struct timeval){ each / CR_SEC, each % CR_SEC / CR_US };
	return event_add(sv->tick, &tv);
}

int ng_service_open(struct ng_service **out,
		    const struct ng_service_config *cfg, struct cr_err *e)
{
	struct ng_service *sv = calloc(1, sizeof(*sv));
	struct ng_listener_config listen = { .base = cfg->base,
					     .address = cfg->address,
					     .acl = cfg->acl,
					     .store = cfg->store,
					     .ask = answer_ng_request,
					     .arg = sv };
	int err;

	if (!sv)
		return cr_fail(e, -ENOMEM, "out of memory");
	sv->cfg = *cfg;
	bound_limits(sv, cfg);
	sv->node = service_node(cfg->service);
	sv->started = clock_now();
	LIST_INIT(&sv->waits);
	TAILQ_INIT(&sv->ringing);
	RB_INIT(&sv->calls.tree);
	err = ng_listener_open(&sv->listener, &listen, e);
	sv->tick =
		event_new(sv->cfg.base, -1, EV_PERSIST, on_ng_service_tick, sv);
	if (!err && (!sv->tick || set_ticks(sv)))
		err = cr_fail(e, -ENOMEM, "out of memory for events");
	if (err) {
		ng_service_close(sv);
		return err;
	}
	*out = sv;
	return 0;
}

int ng_service_change(struct ng_service *sv, const struct ng_service_config *to,
		      struct cr_err *e)
{
	int err = ng_listener_admit(sv->listener, to->acl, e);

	if (err)
		return err;
	bound_limits(sv, to);
	/* a timer that is set has what it needs to be set again */
	(void)set_ticks(sv);
	return 0;
}

void ng_service_close(struct ng_service *sv)
{
	struct cr_err why = { "this node ends" };
	struct ng_wait *wait;

	if (!sv)
		return;
	while ((wait = LIST_FIRST(&sv->waits))) {
		/* The analyzer believes that the one freed is still first.
		 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		node_cost_forget(sv->node, wait->needs);
		end_wait(wait, failed(&why));
	}
	ng_listener_close(sv->listener);
	while (ng_call_first(&sv->calls))
		ng_end_call(sv, ng_call_first(&sv->calls), NODE_END_DRAINED);
	if (sv->tick)
		event_free(sv->tick);
	free(sv);
}

void ng_service_local(const struct ng_service *sv, char *buf, size_t size)
{
	ng_listener_local(sv->listener, buf, size);
}

void ng_service_stats(const struct ng_service *sv, struct ng_service_stats *out)
{
	*out = (struct ng_service_stats){ .count = sv->count,
					  .calls = sv->calls.n,
					  .lines = sv->shares.lines };
	ng_listener_stats(sv->listener, &out->listener);
}
