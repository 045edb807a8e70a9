/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codecs between an offer and its answer (RFC 3264), with us in the middle:
 * what the other party is offered in place of what came, and what both have
 * settled on when it has answered. As little as possible is transcoded.
 *
 * Pure but for memory.
 */
#ifndef NG_CODEC_LIST_H
#define NG_CODEC_LIST_H

#include "ng/codec_rules.h"
#include "rtp/payload_types.h"
#include "rtp/telephone_event.h"
#include "sdp/sdp.h"

/** What a payload type carries. */
enum format_kind { FORMAT_SPEECH, FORMAT_EVENTS, FORMAT_NOISE };
enum format_kind format_kind(const struct sdp_format *f);

bool format_is_amr(const struct sdp_format *f); /**< or AMR-WB */

/** Do both mean the same speech? Packets of one are packets of the other. */
bool format_same(const struct sdp_format *a, const struct sdp_format *b);

/** What this node can do. */
struct codec_abilities {
	/** Can it encode and decode @f? */
	bool (*able)(const struct sdp_format *f);
	/** If not: may its packets be passed on as they are? */
	bool (*passes)(const struct sdp_format *f);
	/** Fill in what @spec leaves out; the type is -1 where none is fixed.
	 * False: it has no such codec. */
	bool (*resolve)(const struct codec_spec *spec, struct sdp_format *f,
			int *pt);
};

/** Why a rule cannot be followed. */
enum codec_unmet {
	CODEC_MET,
	CODEC_LACKING,	 /**< this node has no such codec                    */
	CODEC_NO_SOURCE, /**< nothing of the offer that it could be made from */
	CODEC_NO_TYPE,	 /**< no payload type, or place in the list, is left */
	CODEC_NEEDED	 /**< who offers would have no codec                 */
};

/** One codec of an offer. */
struct codec_item {
	struct sdp_format format;
	/** By us: who offers does not have it, or is not to have it. */
	bool added;
	bool hidden;   /**< from who is offered to                  */
	bool accepted; /**< answered even if the other one refuses  */
	unsigned rank; /**< in the offer as it came: 0 is the best  */
	unsigned bit_rate, ptime; /**< as told; 0: unsaid */
};

/** Texts are those of the description and the rules that it was made from;
 * those of a copy are its own. */
struct codec_list {
	struct codec_item *item;
	unsigned n;
};

/** Room for the items of a list, and what became of the rules. */
struct codec_room {
	struct codec_item item[SDP_FORMATS_MAX];
	/** enum codec_unmet, of each, and of "all" of a rule. */
	uint8_t unmet[CODEC_RULES_MAX], unmet_all[CODEC_RULES];
};

/** What a party has spoken last; no name: nothing yet. */
struct codec_spoken {
	struct codec_spec spec;
	uint8_t pt;
};

/** An offer that came. */
struct codec_asked {
	const struct sdp_line *line;
	const struct codec_rules *rules;
	const struct codec_abilities *can;
	/** Of who is offered to: it can go on with that. */
	const struct codec_spoken *spoken;
};

/** What is offered in place of @asked. 0 and @out, in @room, which shows no
 * speech if that is all that the rules leave; -EINVAL with @e: more than
 * SDP_FORMATS_MAX. */
int codec_offer(struct codec_list *out, struct codec_room *room,
		const struct codec_asked *asked, struct cr_err *e);

/** Does @list show any speech? */
bool codec_shows_speech(const struct codec_list *list);

/** What who offers speaks if the other one has something else: of what it has,
 * and @can, what it likes best. NULL: there is none. */
const struct codec_item *codec_own_speech(const struct codec_list *list,
					  const struct codec_abilities *can);

/** A copy in one piece of memory for free(), or NULL. */
struct codec_list *codec_list_copy(const struct codec_list *from);

/** The formats that are shown, into @out[SDP_FORMATS_MAX]. How many. */
unsigned codec_shown(const struct codec_list *list, struct sdp_format *out);

/** What one party sends and is sent. */
struct codec_choice {
	struct sdp_format speech;		 /**< what it is sent */
	unsigned bit_rate;			 /**< of it; 0: unsaid */
	struct sdp_format also[SDP_FORMATS_MAX]; /**< may send, too */
	unsigned nalso;
	/** Of telephone events, one of a clock; the first is what it is sent.
	 */
	struct sdp_format events[TELEPHONE_EVENT_TYPES];
	unsigned nevents;
	int noise; /**< payload type of comfort noise; -1: none */
	/** What it sends and is passed on as it is: of all this, and of what
	 * is no codec here. */
	struct passed_types passed;
};

/** What both have settled on: [0] who offered, [1] who answered. */
struct codec_settled {
	struct codec_choice party[2];
	/** What they are sent differs: nothing is passed on. */
	bool transcoded;
	/** What who offered is answered. */
	struct sdp_format answer[SDP_FORMATS_MAX];
	unsigned nanswer;
};

/** @line answers what was @offered. @single: one codec is answered, and events.
 * 0; -ENOENT with @e: they have nothing in common. */
int codec_settle(struct codec_settled *out, const struct codec_list *offered,
		 const struct sdp_line *line, bool single,
		 const struct codec_abilities *can, struct cr_err *e);

#endif
