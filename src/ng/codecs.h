/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codecs between an offer and its answer (RFC 3264), with us in the middle:
 * what a telephone system wants of them, what the other party is offered in
 * place of what came, and what both have settled on when it has answered. As
 * little as possible is transcoded.
 *
 *   offer, rules -> codec_offer_make() -> list, answer -> codec_settle()
 *
 * Pure but for memory.
 */
#ifndef NG_CODECS_H
#define NG_CODECS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cr/codec.h"
#include "node/requests.h"
#include "rtp/telephone_event.h"
#include "sdp/sdp.h"

/* --- one codec, and what this node can do with it --- */

/** The content of a payload type. */
enum format_kind { FORMAT_SPEECH, FORMAT_EVENTS, FORMAT_NOISE };
enum format_kind format_kind(const struct sdp_format *f);

/** AMR or AMR-WB? */
bool format_is_amr(const struct sdp_format *f);

/** Do both mean the same speech? Packets of one are packets of the other. */
bool format_same(const struct sdp_format *a, const struct sdp_format *b);

/** The codec of @f, with *@rate (Hz, 0: its own) where it runs at several;
 * NULL: there is none that encodes and decodes it. */
const struct cr_codec *codec_find(const struct sdp_format *f, unsigned *rate);

/** Can this node encode and decode @f? If not, may its packets be passed on as
 * they are? */
bool codec_able(const struct sdp_format *f);
bool codec_passes(const struct sdp_format *f);

/** Let @out be how speech of @f is sent to a party that receives it: its
 * payload format, modes and options, by the RFC of its codec; @bit_rate is the
 * most, 0: the codec's own. Texts are static. A format that can only be passed
 * on gets the codec for that. 0; -EINVAL with @e: no such codec, or parameters
 * that it has not. */
int codec_side(struct codec_use *out, const struct sdp_format *f,
	       unsigned bit_rate, struct cr_err *e);

/** May packets of @a, which was offered, be those of @b, its answer, as for
 * modes of AMR? An answer has the set that was offered (RFC 4867, 8.3.1); where
 * it has another one all the same, each side is kept to its own. */
bool codec_modes_agree(const struct sdp_format *a, const struct sdp_format *b);

/** The parameters that are answered to the offer of @a: where packets are
 * passed on to a party that answered with @b, and where speech ends here. */
const char *codec_fmtp_passed(const struct sdp_format *a,
			      const struct sdp_format *b);
const char *codec_fmtp_own(const struct sdp_format *a);

/** Is @f the codec @wanted? By name (without regard to case), and rate,
 * channels and parameters where @wanted has them (not 0, not ""). */
bool codec_is(const struct sdp_format *wanted, const struct sdp_format *f);

/** Fill in what @f, a codec by name, leaves out; *@pt is -1 where no type is
 * fixed. False: this node has no such codec. */
bool codec_resolve(struct sdp_format *f, int *pt);

/** One codec of an offer, or of a rule. */
struct codec_item {
	struct sdp_format format; /**< of a rule: as codec_is() wants it */
	unsigned bit_rate, ptime; /**< bit/s, ms, as signalled; 0: unsaid */
	/* the rest is an offer's */
	/** By us: the offerer does not have it, or is not to have it. */
	bool added;
	bool hidden;   /**< from the answerer                       */
	bool accepted; /**< answered even if the other one refuses  */
	unsigned rank; /**< in the offer as it came: 0 is the best  */
};

/* --- rules: the dictionary "codec" of NG, and flags "codec-mask-all" that say
 * the same --- */

/** More than these are refused. */
#define CODEC_RULES_MAX 64u

enum codec_rule {
	/** Shown, and not used towards the offerer. */
	CODEC_IGNORE,
	/** Gone, as if it had never been there. */
	CODEC_STRIP,
	/** Hidden from the answerer, and used towards the offerer. */
	CODEC_MASK,
	/** The same; and transcoding is welcome. */
	CODEC_CONSUME,
	/** Shown, and used towards the offerer even if the other refuses. */
	CODEC_ACCEPT,
	/** Not stripped or masked with all the others. */
	CODEC_EXCEPT,
	/** The same, and first, in this order. */
	CODEC_OFFER,
	/** The same; added where it was not there. */
	CODEC_TRANSCODE,
	/** The bit rate of a codec that was offered. */
	CODEC_SET,
	CODEC_RULES
};

/** "mask"; CODEC_RULES of them. */
extern const char *const codec_rule_names[];

/** A rule about one codec. Not to be moved. */
struct codec_rule_item {
	enum codec_rule rule;
	struct codec_item codec;
	char name[32], fmtp[160]; /**< of the codec */
};

/** Read the codec "AMR/8000/1/12200//mode-set--7": name, clock rate, channels,
 * bit rate, packet time, format parameters ("--" may stand for "="), options.
 * All but the name may be missing. 0, or -EINVAL with @e. */
int codec_rule_item_read(struct codec_rule_item *out, const char *text,
			 struct cr_err *e);

/** In the order in which they were said. Not to be moved. */
struct codec_rules {
	bool all[CODEC_RULES];	/**< the word "all" */
	bool full[CODEC_RULES]; /**< the word "full": transcode restores none */
	unsigned n;
	struct codec_rule_item item[CODEC_RULES_MAX]; /**< the first n */
};

/** The rules of @request, an NG dictionary. 0, or -EINVAL with @e. */
int codec_rules_read(struct codec_rules *out, const json_t *request,
		     struct cr_err *e);

/** Is there a rule @name, *@rule; is @flag a rule with a codec? Others of a
 * request mean nothing. */
bool codec_rule_is_named(const char *name, enum codec_rule *rule);
bool codec_rule_is_flag(const char *flag);

/** The codec of @rule that comes next behind @k items; *@k counts on. NULL:
 * there is none. */
const struct codec_item *codec_rules_next(const struct codec_rules *r,
					  enum codec_rule rule, unsigned *k);

/** The first codec of @rule that is @f, or NULL. */
const struct codec_item *codec_rules_find(const struct codec_rules *r,
					  enum codec_rule rule,
					  const struct sdp_format *f);

/* --- an offer --- */

/** Codecs with texts of its own: those that are offered in place of what came,
 * or what the offerer and the answerer speak. One piece of memory for free().
 */
struct codec_list {
	unsigned n;
	struct codec_item item[];
};

/** A list of the @n at @item; NULL: out of memory. */
struct codec_list *codec_list_copy(const struct codec_item *item, unsigned n);

/** Why a rule cannot be followed. */
enum codec_unmet {
	CODEC_MET,
	CODEC_LACKING,	 /**< this node has no such codec                    */
	CODEC_NO_SOURCE, /**< nothing of the offer that it could be made from */
	CODEC_NO_TYPE,	 /**< no payload type, or place in the list, is left */
	CODEC_NEEDED	 /**< the offerer would have no codec                */
};

/** An offer that came, and what becomes of it. */
struct codec_offer {
	const struct sdp_line *line;
	const struct codec_rules *rules;
	/** By the answerer last, which can go on with that; NULL: nothing. */
	const struct sdp_format *spoken;
	/* the rest is codec_offer_make()'s */
	struct codec_item item[SDP_FORMATS_MAX];
	unsigned n;
	/** enum codec_unmet, of each rule, and of "all" of a rule. */
	uint8_t unmet[CODEC_RULES_MAX], unmet_all[CODEC_RULES];
	uint8_t fate[SDP_FORMATS_MAX]; /**< of each format of the line */
	bool ignores;		       /**< CODEC_IGNORE can be followed */
};

/** Make the list that is offered in place of @o->line. It shows no speech if
 * that is all that the rules leave. 0; -EINVAL with @e: more than
 * SDP_FORMATS_MAX; -ENOMEM. */
int codec_offer_make(struct codec_offer *o, struct codec_list **out,
		     struct cr_err *e);

/** The first speech that @list shows, or NULL. */
const struct codec_item *codec_best_shown(const struct codec_list *list);

/** The formats that are shown, into @out[SDP_FORMATS_MAX]. How many. */
unsigned codec_shown(const struct codec_list *list, struct sdp_format *out);

/* --- its answer --- */

/** The result of a negotiation, for the offerer and the answerer. */
struct codec_settled {
	/** The caller's, which get the codecs: side, also, passed and types;
	 * all else is unsaid. */
	struct endpoint_spec *party[2];
	/** Their speech: of the offered list, and of the answer. */
	const struct sdp_format *speech[2];
	/** Their speech differs: nothing is passed on. */
	bool transcoded;
	/** The formats that the offerer is answered. */
	struct sdp_format answer[SDP_FORMATS_MAX];
	unsigned nanswer;
};

/** @line answers what was @offered: fill in @out, which has the parties.
 * @single: one codec is answered, and events. 0; with @e -ENOENT: they have
 * nothing in common; -EINVAL: parameters that this node has not. */
int codec_settle(struct codec_settled *out, const struct codec_list *offered,
		 const struct sdp_line *line, bool single, struct cr_err *e);

#endif
