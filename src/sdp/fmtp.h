/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format parameters of SDP ("a=fmtp"): "mode-set=0,2; octet-align=1".
 *
 * They are read as SDP's are written in practice: names without regard to case,
 * with or without blanks around "=" and ";". Unknown parameters are nobody's
 * error (RFC 4855). Pure.
 */
#ifndef SDP_FMTP_H
#define SDP_FMTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/error.h"

/** The value of @name in @fmtp, which is @*bytes long ("" where it has none),
 * or NULL: it is not there. */
const char *fmtp_find(const char *fmtp, const char *name, size_t *bytes);

/** The same as a number; @absent where it is not there, or no number. */
unsigned fmtp_number(const char *fmtp, const char *name, unsigned absent);

/** Has @fmtp of @codec (its name in SDP) all parameters that @wanted has, in
 * any order? What either does not say is as the codec's RFC has it then. */
bool fmtp_has_all(const char *codec, const char *fmtp, const char *wanted);

/** AMR and AMR-WB (RFC 4867, 8.1 and 8.2). */
struct fmtp_amr {
	bool octet_align, crc, robust_sorting;
	bool interleaving;
	uint16_t mode_set;	     /**< bit n: mode n; 0: all             */
	unsigned mode_change_period; /**< frames between changes: 1 or 2    */
	unsigned mode_change_capability; /**< 1: cannot keep to a period of 2 */
	bool mode_change_neighbor;
	unsigned max_red; /**< ms of redundancy; UINT_MAX: unsaid */
};

/** @modes: how many the codec has. 0, or -EINVAL with @e: no such mode. */
int fmtp_amr_read(struct fmtp_amr *out, const char *fmtp, unsigned modes,
		  struct cr_err *e);

/** What RFC 4867, 8.3.1 wants to be equal in offer and answer, as bits. */
int fmtp_amr_layout(const struct fmtp_amr *amr);

/** Opus (RFC 7587, 6.1): what its receiver says of itself. */
struct fmtp_opus {
	unsigned max_rate;     /**< maxplaybackrate, Hz       */
	unsigned max_bit_rate; /**< maxaveragebitrate; 0: unsaid */
	bool stereo, fec, dtx, constant;
};

void fmtp_opus_read(struct fmtp_opus *out, const char *fmtp);

/** Telephone events (RFC 4733, 2.4.1): "0-15,66". */
struct fmtp_events {
	uint64_t set[4]; /**< bit n % 64 of set[n / 64]: event n */
};

/** 0; -EINVAL with @e: no list of numbers from 0 to 255. "" is 0-15. */
int fmtp_events_read(struct fmtp_events *out, const char *fmtp,
		     struct cr_err *e);
static inline bool fmtp_has_event(const struct fmtp_events *e, unsigned n)
{
	return n < 256 && e->set[n / 64] >> n % 64 & 1u;
}

/** May G.729 send the frames of Annex B (RFC 4856, 2.1.9)? */
bool fmtp_g729_annexb(const char *fmtp);
/** May G.723.1 send those of Annex A (RFC 4856, 2.1.5)? */
bool fmtp_g723_annexa(const char *fmtp);

#endif
