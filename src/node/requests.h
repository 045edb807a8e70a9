/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be asked of a node: plain structs that any protocol can fill, with
 * the values that stand for what was left open, and the check of a
 * conversion's. Texts are borrowed.
 */
#ifndef NODE_REQUESTS_H
#define NODE_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "cr/sched.h"
#include "engine/contract.h"
#include "rtp/payload_types.h"
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

/* --- requests --- */

/** One side of a call. */
struct call_side_request {
	const char *codec; /**< must be there               */
	const char *mode;  /**< NULL: the codec's default   */
	int pt;		   /**< -1: RFC 3551's, or 96       */
	unsigned rate;	   /**< Hz; 0: the codec's          */
	bool octet_align, dtx;
	unsigned
		mode_set; /**< AMR, AMR-WB: bit n: mode n may be used; 0: all */
	/** How its modes change: every second frame at most, to the next one.
	 */
	bool mode_second, mode_next;
	int complexity; /**< -1: the codec's own         */
	unsigned fec;	/**< percent of loss             */
	cr_ns spin;	/**< CPU time a frame; codec "spin" */
};

/** What becomes of packets that never came. */
enum call_loss { CALL_LOSS_NUMBER, CALL_LOSS_CONCEAL };

/** Payload types of what travels among the speech; 0: none. */
struct call_types_request {
	unsigned events;       /**< telephone events (RFC 4733) */
	unsigned events_clock; /**< theirs, Hz; 0: the codec's  */
	/** Further ones that it may send, with their clocks. */
	struct telephone_event_types more;
	unsigned noise; /**< comfort noise (RFC 3389) */
};

/** What is done about the network between a party and us, and its silence. */
struct call_reception_request {
	enum call_loss loss;
	int jitter;		      /**< enum jitter_kind */
	cr_ns jitter_min, jitter_max; /**< of its delay; 0: the defaults      */
	int fill; /**< enum receive_stage_fill; -1: signalled in conversations,
		   * else never
		   */
};

struct call_in_request {
	struct call_side_request side;
	struct sockaddr_storage source; /**< no family: the first sender  */
	/** At a port of its own: how the sender is learned; -1: strictly where
	 * the source is told, else at once. */
	int learn;	  /**< enum learn_mode */
	int64_t ts_first; /**< -1: that of the first packet */
	struct call_types_request types;
	struct call_reception_request reception;
};

struct call_out_request {
	struct call_side_request side;
	struct sockaddr_storage address; /**< must be there    */
	uint32_t ssrc;			 /**< 0: a random one  */
	cr_ns ptime; /**< of its packets; 0: the input's, or a frame */
	struct call_types_request types;
};

/** A release model. */
struct call_release_request {
	int model;  /**< enum release_kind; -1: not named (sporadic) */
	unsigned x; /**< of model rate: jobs ...                     */
	cr_ns y;    /**< ... in a window; 0: x periods               */
	int burst;  /**< of model lbap; -1: not named (1)            */
};

enum call_port { CALL_PORT_SHARED, CALL_PORT_OWN };

/** A new call. */
struct call_request {
	struct call_in_request in;
	struct call_out_request out;
	cr_ns ptime;		 /**< 0: what the input's frames say */
	struct task_terms terms; /**< deadline 0: the period */
	struct call_release_request release;
	enum call_port port;
	const char *interface; /**< of a port of its own; NULL: any that fits */
	int rtcp;      /**< enum endpoint_rtcp_mode; with a port of its own */
	uint32_t ssrc; /**< of the input; 0: a random one         */
	uint32_t pair; /**< id of the other direction's call, or 0 */
	bool keep;     /**< belongs to no session                 */
};

/** Other terms for a call. */
struct call_change_request {
	uint32_t call;
	struct task_terms terms; /**< deadline 0: the period */
	const char *mode;	 /**< of the output; NULL: as it is */
	cr_ns ptime;	 /**< of the input's packets; 0: what they say */
	cr_ns out_ptime; /**< of its packets; 0: as without being asked for */
};

/** Codecs of a party beside the one that it is sent. */
enum { PARTY_ALSO_MAX = 7 };

/** Of IP. */
enum party_family { PARTY_ANY, PARTY_IPV4, PARTY_IPV6 };
/** Their names. */
#define PARTY_FAMILY_NAMES "any", "ipv4", "ipv6", NULL

/** A party, as signalling has it. */
struct party_request {
	/** What it sends and receives. */
	struct call_side_request side;
	/** What it may send, too. */
	struct call_side_request also[PARTY_ALSO_MAX];
	unsigned nalso;
	/** Of what it may send, where a relay is to pass on no more than both
	 * parties have agreed on; then both say it. Types that are codecs' here
	 * and not passed on go through a codec. */
	struct passed_types passed;
	/** Of packets that it is sent; 0: as call_out_request's. */
	cr_ns ptime;
	cr_ns in_ptime; /**< of packets that it sends; 0: the conversation's */
	struct sockaddr_storage address; /**< no family: not known yet   */
	/** Goes with address: where its RTCP is (RFC 3605); no family: one port
	 * above. */
	struct sockaddr_storage rtcp_address;
	int learn;	   /**< enum learn_mode; -1: delayed, if it is known */
	uint32_t ssrc;	   /**< of what it sends; 0: that is learned         */
	uint32_t out_ssrc; /**< of what it is sent; 0: a random one */
	int rtcp;	   /**< enum endpoint_rtcp_mode; -1: PORT */
	const char *interface; /**< of its endpoint; NULL: any that fits     */
	/** enum party_family: of its endpoint while its address is not known.
	 */
	int family;
	struct call_types_request types;
	struct call_reception_request reception; /**< of what it sends */
	/** It wants nothing to be sent to it: "sendonly", "inactive" (RFC
	 * 3264, 8.4). RTCP goes on. */
	bool hold;
	/** Id of its endpoint, which is open: nothing else is said then. 0: a
	 * new one. */
	uint32_t endpoint;
};

/** What changes of a party. */
struct party_change {
	struct call_side_request side; /**< codec NULL: as it is */
	/** Goes with side: what it may send, too. */
	struct call_side_request also[PARTY_ALSO_MAX];
	unsigned nalso;
	struct passed_types passed; /**< goes with side, too */
	/** 0: as it is; with another codec, as party_request's. */
	cr_ns ptime;
	cr_ns in_ptime;			 /**< 0: as it is */
	struct sockaddr_storage address; /**< no family: as it is */
	/** Goes with address, as party_request's. */
	struct sockaddr_storage rtcp_address;
	int learn; /**< -1: as it is        */
	/** As call_types_request's, 0: none any more; -1: as they are. */
	int events, noise;
	/** Go with events, as call_types_request's. */
	unsigned events_clock;
	struct telephone_event_types more;
	int hold; /**< -1: as it is; 0, 1: as party_request's */
};

/** Whether packets are passed on as they are where no codec is needed. */
enum relay_request { RELAY_AUTO, RELAY_NEVER };
/** Their names. */
#define RELAY_REQUEST_NAMES "auto", "never", NULL

struct conversation_request {
	struct party_request party[2];
	cr_ns ptime; /**< as call_request's */
	struct task_terms terms;
	int relay; /**< enum relay_request       */
	/** Whose it is, for queries and records; NULL: nobody said. */
	const char *label;
	bool keep; /**< belongs to no session */
};

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
