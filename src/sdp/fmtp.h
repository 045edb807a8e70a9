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

/** AMR and AMR-WB (RFC 4867, 8.1 and 8.2). Zero is the defaults. */
struct fmtp_amr {
	bool octet_align, crc, robust_sorting;
	bool interleaving;
	uint16_t mode_set; /**< bit n: mode n; 0: all */
	/** The mode changes every second frame at most (mode-change-period=2);
	 * to the next one of mode_set (mode-change-neighbor). */
	bool mode_second, mode_next;
};

/** @modes: how many the codec has. 0, or -EINVAL with @e: no such mode. */
int fmtp_amr_read(struct fmtp_amr *out, const char *fmtp, unsigned modes,
		  struct cr_err *e);

/** Return the parameters that RFC 4867, 8.3.1 wants to be equal in offer and
 * answer, as bits. */
int fmtp_amr_layout(const struct fmtp_amr *amr);

/** Opus (RFC 7587, 6.1): what its receiver says of itself. */
struct fmtp_opus {
	unsigned max_rate;     /**< maxplaybackrate, Hz       */
	unsigned max_bit_rate; /**< maxaveragebitrate; 0: unsaid */
	bool fec, dtx;
};

void fmtp_opus_read(struct fmtp_opus *out, const char *fmtp);

/** Room for what fmtp_write() writes. */
#define FMTP_BYTES 96u

/** Write how @codec (its name in SDP) is asked for, "" for nothing: of AMR
 * modes and alignment of @amr; of Opus its rate, Hz, but for 0; G.729 without
 * its silence descriptor. */
void fmtp_write(char text[FMTP_BYTES], const char *codec,
		const struct fmtp_amr *amr, unsigned rate);

/** Does it say no to @name, which is "yes" where it is not said: frames of
 * Annex B of G.729 ("annexb"), of Annex A of G.723.1 ("annexa"; RFC 4856, 2.1.9
 * and 2.1.5)? */
bool fmtp_says_no(const char *fmtp, const char *name);

#endif
