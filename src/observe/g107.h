/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The E-model of ITU-T G.107 (06/2015): a rating R from delay, codec and loss,
 * with the defaults of its Table 2 (quiet rooms, handsets, talker echo loudness
 * rating 65 dB). R is 93.2 at best. Wideband is G.107.1 (06/2019) without echo:
 * 129 at best. codec_report/g107.py and emodel.py are the same in Python, which
 * a test compares with this.
 *
 * Pure: any thread. No allocation.
 */
#ifndef OBSERVE_G107_H
#define OBSERVE_G107_H

#include <stdbool.h>

/** Planning values of a codec's mode. */
struct g107_codec {
	double ie;	   /**< equipment impairment factor                  */
	double bpl;	   /**< robustness against loss, percent; 0: not
				published                                     */
	double ahead_ms;   /**< look-ahead of its encoder                    */
	bool narrow, wide; /**< the scales that it has a value on          */
};

/** The quality of a call. */
struct g107_call {
	const struct g107_codec *in, *out; /**< what the listener decodes is
						out */
	double delay_ms;    /**< from mouth to ear, but for the look-ahead  */
	double loss;	    /**< of all frames, 0..1                        */
	double burst_ratio; /**< of G.107: 1 for random losses, 8 at most   */
};

struct g107_rating {
	double r, mos; /**< 0..93.2 or 129; 1..4.5 */
	bool wide;
};

/** Values of @mode of @codec, with concealment at the listener. False: none are
 * published, and *@out is as it was. The sources are named at the table. */
bool g107_codec_of(const char *codec, const char *mode, struct g107_codec *out);

/** False: no published value covers it (narrow-band with wideband, losses of a
 * codec without Bpl). */
bool g107_rate(const struct g107_call *c, struct g107_rating *out);

#endif
