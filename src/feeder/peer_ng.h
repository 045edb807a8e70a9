/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a media proxy by the NG protocol, over UDP: cookies, the same
 * question again until it is answered, a bounded number at a time. Nothing
 * waits; answers come to callbacks in an event loop.
 *
 * Main thread only.
 */
#ifndef FEEDER_PEER_NG_H
#define FEEDER_PEER_NG_H

#include <event2/event.h>
#include <jansson.h>
#include <stddef.h>
#include <sys/socket.h>

#include "cr/error.h"
#include "campaign/campaign.h"
#include "cr/time.h"

/** Questions that are under way at once; more wait for their turn. */
#define PEER_NG_WINDOW 32u
/** A question is asked again after so long. */
#define PEER_NG_AGAIN (300 * CR_MS)
/** And given up after so long. */
#define PEER_NG_PATIENCE (10 * CR_SEC)

struct peer_ng;

/** The answer, borrowed; or NULL, and @why there is none. */
typedef void peer_ng_reply_fn(void *arg, const json_t *answer, const char *why);

/** 0 with *@peer, or -errno with @e. Nothing is sent. */
int peer_ng_open(struct peer_ng **peer, struct event_base *base,
		 const struct sockaddr_storage *to, struct cr_err *e);

/** Ask @question, which is taken over. @reply is called once, later; by
 * peer_ng_close(), if there was no answer until then. 0, -ENOMEM, -ENOSPC: it
 * is too long. */
int peer_ng_ask(struct peer_ng *peer, json_t *question, peer_ng_reply_fn *reply,
		void *arg);

/** Ping the peer every @every from now on, and call @reply for each answer or
 * timeout. */
void peer_ng_watch(struct peer_ng *peer, cr_ns every, peer_ng_reply_fn *reply,
		   void *arg);

/** Cancel all requests, with a reply to each that says so. Ends the watch. */
void peer_ng_give_up(struct peer_ng *peer);

/** Run the loop until all is answered, for @patience at most. */
void peer_ng_settle(struct peer_ng *peer, cr_ns patience);

/** Ask, and run the loop until the answer is there. 0 with *@answer, the
 * caller's, or -errno with @e. */
int peer_ng_wait(struct peer_ng *peer, json_t *question, json_t **answer,
		 struct cr_err *e);

/** Letters and digits that no other asker has, at any time: a proxy may still
 * know an earlier one, and process ids come again. */
const char *peer_ng_tag(const struct peer_ng *peer);

/** Questions that are not answered yet. */
unsigned peer_ng_pending(const struct peer_ng *peer);

void peer_ng_close(struct peer_ng *peer); /**< NULL is fine */

/*
 * The description of a call in SDP (RFC 8866), as the peer gets it: a party
 * that receives one codec; and the peer's description. Pure but for memory.
 */

/** Room for any description of ours. */
#define PEER_SDP_BYTES 1024u

/** Can calls of @f be described at all? 0, or -ENOTSUP with @e, which names the
 * flow and what cannot. */
int peer_sdp_check(const struct campaign_flow *f, struct cr_err *e);

/** The payload type under which @endpoint is offered. */
unsigned peer_sdp_pt(const struct codec_use *endpoint);

/** Describe a party that sends and receives @endpoint as payload type @pt, in
 * packets of @ptime, at @address ("127.0.0.1:40100"): into @text. 0, or
 * -EINVAL: no address, or no room. */
int peer_sdp_write(char text[PEER_SDP_BYTES], const struct codec_use *endpoint,
		   unsigned pt, cr_ns ptime, const char *address);

/** @endpoint as the list "transcode" of NG has it, into @text:
 * "AMR/8000/1/12200//mode-set--7;octet-align--1". */
void peer_sdp_codec(char *text, size_t size, const struct codec_use *endpoint);

/** The address and the payload type of @endpoint in the peer's description
 * @text. 0 with *@at and *@pt, or -EPROTO with @e: it is no SDP, has
 * no line of audio, or not that codec first. */
int peer_sdp_read(const char *text, const struct codec_use *endpoint,
		  struct sockaddr_storage *at, unsigned *pt, struct cr_err *e);

#endif
