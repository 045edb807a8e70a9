/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands beside offer and answer, and how calls end.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/address.h"
#include "base/clock.h"
#include "ng/service_impl.h"
#include "observe/log.h"
#include "protocol/service.h"
#include "rpc/jsonrpc.h"

/* An offer is old when such a part of the time has passed that it is waited
 * for: 38 s of the usual 10 minutes, and SIP's own transactions end before. */
enum { OLD = 16 };

/* --- the life of calls --- */

void ng_call_signalled(struct ng_call *call)
{
	call->signalled = clock_read(CLOCK_REALTIME);
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
		/* who asks for more than others gives up before them */
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
	log_event(LOG_WARN, "ng-displaced", "call=\"%s\" by=\"%s\" s=%lld",
		  found->call->id, d->call->id,
		  (long long)((clock_now() - found->offered) / CR_SEC));
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
	ng_due_close(&sv->shares, &d->due);
	ng_dialog_free(d, close_endpoints, sv);
	if (LIST_EMPTY(&call->dialogs))
		ng_call_free(&sv->calls, call);
}

void ng_end_call(struct ng_service *sv, struct ng_call *call, enum node_end why)
{
	struct ng_dialog *d = LIST_FIRST(&call->dialogs), *next;

	for (; d; d = next) { /* the last one takes the call with it */
		next = LIST_NEXT(d, link);
		ng_end_dialog(sv, d, why, NULL);
	}
}

/* --- commands --- */

/* Which it meant, or a warning that there is none. */
static int not_found(const struct ng_work *w, struct cr_err *e)
{
	static const char text[] = "Call-ID not found or tags didn't match";

	if (w->request->fatal || w->request->command == NG_QUERY)
		return cr_fail(e, -ESRCH, "%s",
			       w->request->command == NG_QUERY
				       ? "Unknown call-id"
				       : text);
	ng_warn(w->warning, "%s", text);
	return 0;
}

static int delete_(const struct ng_work *w, struct cr_err *e)
{
	const struct ng_request *r = w->request;
	const struct ng_dialog_key key = { r->from_tag, r->to_tag,
					   r->via_branch };
	struct ng_service *sv = w->service;
	struct ng_call *call = ng_call_find(&sv->calls, r->call_id);
	struct ng_dialog *d = call ? LIST_FIRST(&call->dialogs) : NULL, *next;
	bool found = ng_forget_waits(sv, r->call_id, &key);
	char peer[NODE_ADDRESS_MAX];
	const struct node_who who = {
		NODE_BY_PROXY, address_text(w->from, peer, sizeof(peer))
	};

	if (call)
		ng_report_call(sv, call, &key, w->reply);
	for (; d; d = next) {
		next = LIST_NEXT(d, link);
		if (!ng_dialog_matches(d, &key))
			continue;
		found = true;
		sv->count.deleted++;
		ng_end_dialog(sv, d, NODE_END_STOPPED, &who);
	}
	return found ? 0 : not_found(w, e);
}

/* Has the reply all that is to be told? do_command() has begun it. */
static int reported_all(struct cr_err *e)
{
	if (!jsonrpc_lacked())
		return 0;
	return cr_fail(e, -ENOMEM, "out of memory for the answer");
}

static int query(const struct ng_work *w, struct cr_err *e)
{
	const struct ng_request *r = w->request;
	const struct ng_dialog_key key = { r->from_tag, r->to_tag,
					   r->via_branch };
	struct ng_call *call = ng_call_find(&w->service->calls, r->call_id);

	if (!call)
		return not_found(w, e);
	ng_report_call(w->service, call, &key, w->reply);
	return reported_all(e);
}

/* By UDP an answer may go to whose address was forged: no more than what one
 * frame of Ethernet holds. */
enum { LIST_BYTES = 1200, LIST_ITEM = 5 };

static int list(const struct ng_work *w, struct cr_err *e)
{
	struct ng_call *call = ng_call_first(&w->service->calls);
	json_t *calls = json_array();
	size_t room = w->datagram ? LIST_BYTES : SIZE_MAX;

	for (unsigned i = 0; call && i < w->request->limit; i++) {
		if (strlen(call->id) + LIST_ITEM > room)
			break;
		room -= strlen(call->id) + LIST_ITEM;
		(void)json_array_append_new(calls,
					    json_string_nocheck(call->id));
		call = ng_call_next(call);
	}
	(void)json_object_set_new(w->reply, "calls", calls);
	return reported_all(e);
}

static int statistics(const struct ng_work *w, struct cr_err *e)
{
	ng_report_statistics(w->service, w->reply);
	return reported_all(e);
}

static int ping(const struct ng_work *w, struct cr_err *e)
{
	(void)e;
	(void)json_object_set_new(w->reply, "result", json_string("pong"));
	return 0;
}

/* One in a dialog that is there goes on. */
static int offer(const struct ng_work *w, struct cr_err *e)
{
	if (service_draining(w->service->cfg.service) &&
	    !ng_call_find(&w->service->calls, w->request->call_id))
		return cr_fail(e, -ENOSPC,
			       "draining: this node takes no new calls");
	return ng_offer(w, e);
}

int (*const ng_commands[NG_COMMANDS])(const struct ng_work *w,
				      struct cr_err *e) = {
	[NG_PING] = ping,
	[NG_OFFER] = offer,
	[NG_ANSWER] = ng_answer_to,
	[NG_DELETE] = delete_,
	[NG_QUERY] = query,
	[NG_LIST] = list,
	[NG_STATISTICS] = statistics,
};
