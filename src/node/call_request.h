/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests to start a call and to change one: plain structs that any
 * protocol can fill. Codecs and modes are names. 0 and NULL mean the default,
 * unless a member says otherwise. Texts are borrowed.
 *
 * Constants and types only; node/call_check.h makes calls from them.
 */
#ifndef NODE_CALL_REQUEST_H
#define NODE_CALL_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "cr/sched.h"
#include "engine/contract.h"
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
	int fill; /**< enum receive_stage_fill; -1: told in conversations, else
		   * never
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

#endif
