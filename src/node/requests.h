/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be asked of a node: plain structs (specs) that any protocol can
 * fill, with the values that stand for what was left open, and the check of a
 * conversion's. Texts are borrowed.
 */
#ifndef NODE_REQUESTS_H
#define NODE_REQUESTS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "cr/sched.h"
#include "engine/contract.h"
#include "media/payload.h"
#include "rtp/telephone_event.h"

/* --- bounds and defaults --- */

#define CALL_PTIME_MIN (5 * CR_MS)
#define CALL_PTIME_MAX (60 * CR_MS)
#define CALL_DEADLINE_MAX (10 * CR_SEC)
#define CALL_WINDOW_MAX (10 * CR_SEC)
/** No job takes longer. */
#define CALL_COST_MAX (1000 * CR_SEC)
_Static_assert(CALL_COST_MAX <= CR_TASK_LONGEST &&
		       CALL_DEADLINE_MAX <= CR_TASK_LONGEST &&
		       CALL_PTIME_MAX <= CR_TASK_LONGEST,
	       "what may be asked for can be scheduled");
/** Each is measured by running it. */
#define CALL_SPIN_MAX (100 * CR_MS)
/** Delays of a jitter buffer. */
#define CALL_JITTER_FIXED (60 * CR_MS)
#define CALL_JITTER_MOST (200 * CR_MS)
#define CALL_WEIGHT 1024
#define CALL_WEIGHT_MAX 100000
#define CALL_BURST_MAX 1000

/** Names of enum cr_class, as people and protocols write them. */
#define CALL_CLASS_NAMES "hard", "soft", "best-effort", NULL
/** Names of enum learn_mode. */
#define CALL_LEARN_NAMES "strict", "immediate", "delayed", "asymmetric", NULL
/** Names of enum call_loss. */
#define CALL_LOSS_NAMES "number", "conceal", NULL
/** Names of enum endpoint_rtcp_mode. */
#define CALL_RTCP_NAMES "off", "port", "mux", NULL
/** Names of enum jitter_kind. */
#define CALL_JITTER_NAMES "off", "fixed", "adaptive", NULL
/** Names of enum receive_stage_fill. */
#define CALL_FILL_NAMES "never", "signalled", "always", NULL
/** Names of enum release_kind. */
#define CALL_MODEL_NAMES "sporadic", "periodic", "rate", "lbap", NULL

extern const char *const call_class_names[];

/* --- specs --- */

/** The treatment of missing packets. */
enum call_loss { CALL_LOSS_NUMBER, CALL_LOSS_CONCEAL };

/** Payload types of what travels among the speech; 0: none. */
struct aux_spec {
	int events;	       /**< telephone events (RFC 4733) */
	unsigned events_clock; /**< theirs, Hz; 0: the codec's  */
	/** Further ones that it may send, with their clocks. */
	struct telephone_event_types more;
	int noise; /**< comfort noise (RFC 3389) */
};

/** Handling of loss, jitter and silence of a party. */
struct reception_spec {
	enum call_loss loss;
	int jitter;		      /**< enum jitter_kind */
	cr_ns jitter_min, jitter_max; /**< of its delay; 0: the defaults      */
	int fill; /**< enum receive_stage_fill; -1: signalled in a call
		   * of two streams, else never
		   */
};

/** Codecs of a party beside the one that it is sent. */
enum { PARTY_ALSO_MAX = 7 };

/** Of IP. */
enum party_family { PARTY_ANY, PARTY_IPV4, PARTY_IPV6 };
/** Their names. */
#define PARTY_FAMILY_NAMES "any", "ipv4", "ipv6", NULL

/**
 * All that can be asked of our end towards a party, as signalling has it.
 *
 * A change of one is a spec, too: what it does not say stays. That is a codec
 * of NULL, an address without a family, a time of 0, and -1 of learn, hold,
 * types.events and types.noise. Other members do not change, but also, passed
 * and ptime go with the codec, rtcp_address with the address, and events_clock
 * and more with the events.
 */
struct endpoint_spec {
	/** The codec that it sends and receives. */
	struct codec_use side;
	/** Other codecs that it may send. */
	struct codec_use also[PARTY_ALSO_MAX];
	unsigned nalso;
	/** Of what it may send, where a relay is to pass on no more than both
	 * parties have agreed on; then both say it. Types that are codecs' here
	 * and not passed on go through a codec. */
	struct passed_types passed;
	cr_ns ptime; /**< of packets that it is sent; 0: the input's, or a frame
		      */
	cr_ns in_ptime; /**< of packets that it sends; 0: the call's */
	struct sockaddr_storage address; /**< no family: not known yet   */
	/** Goes with address: where its RTCP is (RFC 3605); no family: one port
	 * above. */
	struct sockaddr_storage rtcp_address;
	/** enum learn_mode, at a port of its own; -1: immediate, unless the
	 * address is known: then strict in a call of one stream, else
	 * delayed. */
	int learn;
	uint32_t ssrc;	   /**< of what it sends; 0: that is learned, or chosen
			    */
	uint32_t out_ssrc; /**< of what it is sent; 0: a random one */
	/** enum endpoint_rtcp_mode; -1: PORT in a call of two streams, else
	 * off. */
	int rtcp;
	const char *interface; /**< of its endpoint; NULL: any that fits     */
	/** enum party_family: of its endpoint while its address is not known.
	 */
	int family;
	struct aux_spec types;
	struct reception_spec reception; /**< of what it sends */
	/** It wants nothing to be sent to it: "sendonly", "inactive" (RFC
	 * 3264, 8.4). RTCP goes on. */
	int hold;
	/** Id of its endpoint, which is open: nothing else is said then. 0: a
	 * new one. */
	uint32_t endpoint;
};

/** Does the change @to say anew where the party is, or how it is chosen? */
static inline bool endpoint_spec_hears(const struct endpoint_spec *to)
{
	return to->address.ss_family || to->learn >= 0;
}

/** Does the change @to say anew what the party speaks? */
static inline bool endpoint_spec_speaks(const struct endpoint_spec *to)
{
	return to->side.name || to->ptime || to->in_ptime ||
	       to->types.events >= 0 || to->types.noise >= 0;
}

/** The names of an end's members in a request, for messages. */
struct end_names {
	const char *path;    /**< before them: "a." */
	const char *address; /**< where the party is: "a.address" */
};

/** A release model. */
struct release_spec {
	int model;  /**< enum release_kind; -1: not named (sporadic) */
	unsigned x; /**< of model rate: jobs ...                     */
	cr_ns y;    /**< ... in a window; 0: x periods               */
	int burst;  /**< of model lbap; -1: not named (1)            */
};

/** The port that packets come to. */
enum call_port {
	CALL_PORT_SHARED, /**< from in to out: the node's port */
	CALL_PORT_OWN,	  /**< from in to out: one of the call's own */
	CALL_PORT_EACH	  /**< a call of two streams: both ends have one */
};

/** Relay packets where no codec is needed, or never. */
enum relay_request { RELAY_AUTO, RELAY_NEVER };
/** Their names. */
#define RELAY_REQUEST_NAMES "auto", "never", NULL

/** A call: one stream, from end 0 to end 1, or two: one in
 * each direction. A change of one, or (end 0) of an endpoint, is a spec, too:
 * what it does not say stays, as CALL_CHANGE_UNSAID and struct endpoint_spec
 * have it. */
struct call_spec {
	uint32_t id;		     /**< a change: of what */
	struct endpoint_spec end[2]; /**< of one stream: in, out */
	enum call_port port;
	cr_ns ptime;		 /**< 0: what the input's frames say */
	struct task_terms terms; /**< deadline 0: the period */
	bool keep;		 /**< belongs to no session                 */
	const char *label;	 /**< for queries and records; or NULL */
	/* one stream */
	struct release_spec release;
	int64_t ts_first; /**< of the input; -1: that of the first packet */
	uint32_t pair;	  /**< id of the other direction's call, or 0 */
	/* a call of two streams */
	int relay; /**< enum relay_request       */
};

/* clang-format off */
/** Specs of which nothing is said yet. */
#define ENDPOINT_SPEC_UNSAID                                                   \
	{ .side = { .pt = CODEC_PT_UNSAID }, .learn = -1, .rtcp = -1,     \
	  .reception = { .fill = -1 } }
#define CALL_SPEC_UNSAID                                                       \
	{ .end = { ENDPOINT_SPEC_UNSAID, ENDPOINT_SPEC_UNSAID },               \
	  .release = { .model = -1, .burst = -1, .x = 1 }, .ts_first = -1 }
/** Of a change, what a party stays. */
#define ENDPOINT_CHANGE_UNSAID                                                 \
	{ .side = { .pt = CODEC_PT_UNSAID }, .learn = -1, .hold = -1,          \
	  .types = { .events = -1, .noise = -1 } }
/** Of a change, the part of one stream: with end[1].side.mode. */
#define CALL_CHANGE_UNSAID                                                     \
	{ .ptime = -1, .end[1].ptime = -1,                                     \
	  .terms = { .cls = (enum cr_class)-1, .deadline = -1,                 \
		     .nice = INT_MIN,                                          \
		     .contract = { -1, -1, -1, -1, -1, -1 } } }
/* clang-format on */

struct conversion_cfg;
struct cr_err;

/** Behind "in: is missing". */
#define CONVERT_WHICH_FILE "a file in the node's spool folder"

struct convert_request {
	const char *in, *out; /**< must be there                */
	const char *mode;     /**< NULL: the codec's default    */
	unsigned rate;	      /**< of WAV, Hz; 0: the input's   */
	bool dtx, overwrite;
};

/**
 * The configuration that @r asks for: names, options, the output's kind. 0, or
 * -EINVAL with @e naming the member and the way out, and @out as it was. Pure:
 * whether the files are there is converter_submit()'s to say.
 */
int convert_check(struct conversion_cfg *out, const struct convert_request *r,
		  struct cr_err *e);

#endif
