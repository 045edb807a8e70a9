/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node as a media proxy: what is asked by the NG protocol, and done.
 *
 * A telephone system hands over the session descriptions of its callers. It
 * gets them back with our addresses and codecs in them; so packets come to us,
 * and calls (node/node_call.h) do the rest. Its calls belong to
 * nobody's session: they end when it deletes them, or when they are silent for
 * long.
 *
 * Thread rule: the event base's thread.
 */
#ifndef NG_NG_SERVICE_H
#define NG_NG_SERVICE_H

#include <event2/event.h>
#include <stddef.h>

#include "cr/error.h"
#include "cr/time.h"
#include "base/address.h"
#include "ng/listener.h"
#include "ng/request.h"
#include "ng/dialog.h"

struct ng_service;
struct service;

/** Calls without a packet for so long are over, if nobody says otherwise. */
#define NG_SILENCE (3600 * CR_SEC)
/** And those that nobody answers. */
#define NG_PATIENCE (600 * CR_SEC)
/** Media lines, of all calls and of those of one host. */
#define NG_LINES 20000u
#define NG_HOST_LINES 16000u
/** Media lines of a call, and offers of a host that nobody has answered yet. */
#define NG_CALL_LINES 4u
#define NG_HOST_OFFERS 2000u

struct node_call;

struct ng_service_config {
	struct event_base *base;
	struct notify *store;	    /**< as in ng/listener.h */
	struct service *service;    /**< protocol/service.h; outlives it */
	const char *address;	    /**< as in ng/listener.h             */
	const struct networks *acl; /**< the same                 */
	cr_ns silence, patience;    /**< 0: see above                    */
	struct ng_bounds most;	    /**< zero: see above                 */
};

/** Ends of calls, and results of requests. */
struct ng_counts {
	unsigned long long asked[NG_COMMANDS];
	unsigned long long errors, load_limits;
	unsigned long long dialogs; /**< that were begun          */
	unsigned long long deleted; /**< as asked for             */
	unsigned long long silent;  /**< for want of packets      */
	unsigned long long unanswered;
};

struct ng_service_stats {
	struct ng_counts count;
	struct ng_listener_stats listener;
	unsigned calls, lines; /**< now */
};

/** 0, or -errno with @e. */
int ng_service_open(struct ng_service **s, const struct ng_service_config *cfg,
		    struct cr_err *e);
/** Go on with the acl, silence, patience and most of @to: calls that there are
 * go by them, too. 0; -EINVAL with @e, as ng_listener_admit(): nothing has
 * changed.
 */
int ng_service_change(struct ng_service *s, const struct ng_service_config *to,
		      struct cr_err *e);
/** Go on with the dialog of @note, which was kept in @slot; the node has its
 * calls and endpoints. 0: the slot is the dialog's. Or -errno with @e: calls
 * and endpoints have been ended, and that is logged; if the dialog @must go on,
 * all is as before, and the caller's to report. */
int ng_restore_dialog(struct ng_service *sv, const json_t *note,
		      struct state_slot *slot, bool must, struct cr_err *e);
/** Forget the dialog that was made of @slot: another process has it still. Its
 * calls and endpoints stay. Returns the slot; NULL: none was. */
struct state_slot *ng_drop_dialog(struct ng_service *sv,
				  const struct state_slot *slot);
/** Claim calls and endpoints that were built again since their dialogs went on.
 */
void ng_claim_dialogs(struct ng_service *sv);
/** Can all dialogs go on in another process? 0, or -EBUSY with @e. */
int ng_service_may_move(const struct ng_service *s, struct cr_err *e);
/** Its calls end. NULL is fine. */
void ng_service_close(struct ng_service *s);

/** Calls that were offered, and that nobody has answered yet; requests that
 * wait for their costs. */
unsigned ng_service_pending(const struct ng_service *s);

void ng_service_stats(const struct ng_service *s, struct ng_service_stats *out);

/** Write the address that it listens at, with the port that port 0 has become.
 */
void ng_service_local(const struct ng_service *s, char *buf, size_t size);

#endif
