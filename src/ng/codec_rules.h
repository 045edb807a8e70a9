/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a telephone system wants of the codecs of an offer: the dictionary
 * "codec" of NG, and flags "codec-mask-all" that say the same.
 *
 * A codec is named as in AMR/8000/1/12200//mode-set--7;octet-align--1: name,
 * clock rate, channels, bit rate, packet time, format parameters ("--" may
 * stand for "="), options. All but the name may be missing.
 *
 * Pure but for memory.
 */
#ifndef NG_CODEC_RULES_H
#define NG_CODEC_RULES_H

#include <jansson.h>
#include <stdbool.h>

#include "sdp/sdp.h"

/** More than these are refused. */
#define CODEC_RULES_MAX 64u

struct codec_spec {
	char name[32];
	unsigned rate, channels; /**< 0: any                      */
	unsigned bit_rate;	 /**< 0: the codec's own          */
	unsigned ptime;		 /**< ms; 0: unsaid               */
	char fmtp[160];		 /**< "": any, or the codec's own */
};

enum codec_rule {
	/** Shown, and not used towards who offers. */
	CODEC_IGNORE,
	/** Gone, as if it had never been there. */
	CODEC_STRIP,
	/** Hidden from who is offered to, and used towards who offers. */
	CODEC_MASK,
	/** The same; and transcoding is welcome. */
	CODEC_CONSUME,
	/** Shown, and used towards who offers even if the other one refuses. */
	CODEC_ACCEPT,
	/** Not stripped or masked with all the others. */
	CODEC_EXCEPT,
	/** The same, and first, in this order. */
	CODEC_OFFER,
	/** The same; added where it was not there. */
	CODEC_TRANSCODE,
	/** How a codec that was offered is used. */
	CODEC_SET,
	CODEC_RULES
};

/** "mask"; CODEC_RULES of them. */
extern const char *const codec_rule_names[];

/** In the order in which they were said. */
struct codec_rules {
	bool all[CODEC_RULES];	/**< the word "all" */
	bool full[CODEC_RULES]; /**< the word "full": transcode restores none */
	unsigned n;
	struct {
		enum codec_rule rule;
		struct codec_spec spec;
	} item[CODEC_RULES_MAX]; /**< the first n */
};

/** Read "AMR/8000/1/12200//mode-set--7". 0, or -EINVAL with @e. */
int codec_spec_read(struct codec_spec *out, const char *text, struct cr_err *e);

/** Is @f the codec of @spec? By name (without regard to case), and rate,
 * channels and parameters where @spec has them. */
bool codec_spec_is(const struct codec_spec *spec, const struct sdp_format *f);

/** The rules of @request, an NG dictionary. 0, or -EINVAL with @e. */
int codec_rules_read(struct codec_rules *out, const json_t *request,
		     struct cr_err *e);

/** Is there a rule @name, *@rule; is @flag a rule with a codec? Others of a
 * request mean nothing. */
bool codec_rule_is_named(const char *name, enum codec_rule *rule);
bool codec_rule_is_flag(const char *flag);

/** The spec of @rule that comes next behind @k items; *@k counts on. NULL:
 * there is none. */
const struct codec_spec *codec_rules_next(const struct codec_rules *r,
					  enum codec_rule rule, unsigned *k);

/** The first spec of @rule that is @f, or NULL. */
const struct codec_spec *codec_rules_find(const struct codec_rules *r,
					  enum codec_rule rule,
					  const struct sdp_format *f);

#endif
