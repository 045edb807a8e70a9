/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A codec-runner as a session's peer, by its own protocol (docs/protocol.md):
 * session_control.c, calls in session_control_call.c, conversations in
 * session_talk.c. Main thread only.
 */
#ifndef FEEDER_SESSION_CONTROL_H
#define FEEDER_SESSION_CONTROL_H

#include "feeder/session_impl.h"

extern const struct session_peer session_control;

/** Ask and wait. 0 with *@result owned by the caller, or -errno with @e (may
 * be NULL); a refusal is -EPROTO. Takes over @params. */
int session_ask(struct session *s, const char *method, json_t *params,
		json_t **result, struct cr_err *e);

/** Parameters of call.start for a call of @flow; @ts_first: of frame 0;
 * @address: our end, "127.0.0.1:40100". */
json_t *session_call_params(const struct session *s,
			    const struct campaign_flow *flow, uint32_t ts_first,
			    const char *address);

/** One side of a call as the protocol has it. */
json_t *session_endpoint_json(const struct campaign_endpoint *endpoint);

/** What @flow says of ptime (0: nothing), class, deadline, shares and contract,
 * into @o. */
void session_put_terms(json_t *o, const struct campaign_flow *flow,
		       cr_ns ptime);

/** The daemon has refused @c, which the error @e says. */
void session_refused(struct session *s, struct feeder_call *c, const json_t *e);

/** As of struct session_peer. */
void session_control_start(struct session *s, struct feeder_call *c,
			   const char *address);
void session_control_stop(struct session *s, struct feeder_call *c);

#endif
