/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The E-model. Numbers in brackets are those of the formulas in G.107.
 */
#include "observe/g107.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Table 2: loudness ratings and echo in dB, noise in dBm0p, dBmp and dB(A). */
#define SLR 8.0
#define RLR 2.0
#define STMR 15.0
#define DS 3.0
#define DR 3.0
#define TELR 65.0
#define WEPL 110.0
#define QDU 1.0
#define NC (-70.0)
#define NFOR (-64.0)
#define PS 35.0
#define PR 35.0
#define LSTR (STMR + DR)
#define OLR (SLR + RLR)

#define WIDEBAND_BEST 129.0
#define BURST_RATIO_MAX 8.0

#define G723_AHEAD 7.5
#define AMR_AHEAD 5.0

/* --- codecs --- */

struct row {
	const char *codec, *mode; /* mode NULL: all */
	struct g107_codec values;
};

/* G.113 Appendix I: pcmu, pcma, gsm, g726-32, g723_1; amr/12.2 is its GSM-EFR,
 * amr/7.40 its IS-641 (3GPP TS 26.071). amr-wb: G.113 Appendix IV, both ears.
 * l16 codes nothing. */
static const struct row rows[] = {
	{ "pcmu", NULL, { 0, 25.1, 0, .narrow = true } },
	{ "pcma", NULL, { 0, 25.1, 0, .narrow = true } },
	{ "gsm", NULL, { 20, 0, 0, .narrow = true } },
	{ "g726-32", NULL, { 7, 0, 0, .narrow = true } },
	{ "l16", NULL, { 0, 0, 0, .narrow = true, .wide = true } },
	{ "g723_1", "6.3", { 15, 16.1, G723_AHEAD, .narrow = true } },
	{ "amr", "12.2", { 5, 10, AMR_AHEAD, .narrow = true } },
	{ "amr", "7.40", { 10, 0, AMR_AHEAD, .narrow = true } },
	{ "amr-wb", "6.60", { 56, 0, AMR_AHEAD, .wide = true } },
	{ "amr-wb", "8.85", { 41, 0, AMR_AHEAD, .wide = true } },
	{ "amr-wb", "12.65", { 20, 4.3, AMR_AHEAD, .wide = true } },
	{ "amr-wb", "15.85", { 17, 0, AMR_AHEAD, .wide = true } },
	{ "amr-wb", "23.05", { 8, 4.6, AMR_AHEAD, .wide = true } },
	{ "amr-wb", "23.85", { 10, 4.9, AMR_AHEAD, .wide = true } },
};

bool g107_codec_of(const char *codec, const char *mode, struct g107_codec *out)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (strcmp(rows[i].codec, codec) ||
		    (rows[i].mode && strcmp(rows[i].mode, mode)))
			continue;
		*out = rows[i].values;
		return true;
	}
	return false;
}

/* --- the narrow-band model --- */

static double power(double db)
{
	return pow(10, db / 10);
}

/* No: all noise at the 0 dBr point, dBm0p (7-3 to 7-7). */
static double noise(void)
{
	double sender =
		PS - SLR - DS - 100 + 0.004 * pow(PS - OLR - DS - 14, 2);
	double room = PR + 10 * log10(1 + power(10 - LSTR));
	double receiver = RLR - 121 + room + 0.008 * pow(room - 35, 2);

	return 10 * log10(power(NC) + power(sender) + power(receiver) +
			  power(NFOR + RLR));
}

/* Ro: signal to noise (7-2). */
static double basic(void)
{
	return 15 - 1.5 * (SLR + noise());
}

/* The sum of 1 and a power, which all terms of Is and Idd are made of. */
static double bend(double x, double n)
{
	return pow(1 + pow(x, n), 1 / n);
}

/* Ist: sidetone (7-12, 7-13). */
static double sidetone(double delay_ms)
{
	double side =
		-10 * log10(power(-STMR) + exp(-delay_ms / 4) * power(-TELR));

	return 12 * bend((side - 13) / 6, 8) -
	       28 * bend((side + 1) / 19.4, 35) -
	       13 * bend((side - 3) / 33, 13) + 29;
}

/* Is: loudness, sidetone, quantizing (7-8 to 7-17). */
static double simultaneous(double delay_ms)
{
	double loud = OLR + 0.2 * (64 + noise() - RLR);
	double too_loud = 20 * (bend(loud / 8, 8) - loud / 8);
	double signal = 37 - 15 * log10(QDU);
	double g = 1.07 + 0.258 * signal + 0.0602 * signal * signal;
	double y = (basic() - 100) / 15 + 46 / 8.4 - g / 9;
	double z = 46.0 / 30 - g / 40;

	return too_loud + sidetone(delay_ms) +
	       15 * log10(1 + pow(10, y) + pow(10, z));
}

static double echo(double difference, double floor_)
{
	return difference / 2 + sqrt(difference * difference / 4 + floor_);
}

/* Idte (7-19 to 7-22). */
static double talker_echo(double t)
{
	double level = TELR - 40 * log10((1 + t / 10) / (1 + t / 150)) +
		       6 * exp(-0.3 * t * t);
	double quality = 80 + 2.5 * (level - 14);
	double base = -1.5 * (noise() - RLR);

	return (echo(base - quality, 100) - 1) * (1 - exp(-t));
}

/* Idle (7-25, 7-26), with the delay there and back. */
static double listener_echo(double t)
{
	double quality = 10.5 * (WEPL + 7) * pow(2 * t + 1, -0.25);

	return echo(basic() - quality, 169);
}

/* Idd: a long delay without any echo (7-27, 7-28). */
static double absolute_delay(double delay_ms)
{
	double x;

	if (delay_ms <= 100)
		return 0;
	x = log2(delay_ms / 100);
	return 25 * (bend(x, 6) - 3 * bend(x / 3, 6) + 2);
}

/* Ie-eff (7-29). */
static double equipment(double ie, double bpl, double loss, double burst_ratio)
{
	double percent = 100 * loss;

	return loss > 0 ? ie + (95 - ie) * percent /
					  (percent / burst_ratio + bpl)
			: ie;
}

/* Annex B; its polynomial falls below the end of the scale for small R. */
static double mos_of(double r)
{
	if (r <= 0)
		return 1;
	if (r >= 100)
		return 4.5;
	return fmax(1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6, 1);
}

bool g107_rate(const struct g107_call *c, struct g107_rating *out)
{
	double delay = c->delay_ms + c->in->ahead_ms + c->out->ahead_ms;
	double burst = fmin(fmax(c->burst_ratio, 1), BURST_RATIO_MAX);
	bool narrow = c->in->narrow && c->out->narrow;
	double ie, r;

	if ((!narrow && !(c->in->wide && c->out->wide)) ||
	    (c->loss > 0 && c->out->bpl <= 0))
		return false;
	ie = equipment(c->in->ie + c->out->ie, c->out->bpl, c->loss, burst);
	r = narrow ? basic() - simultaneous(delay) - talker_echo(delay) -
			     listener_echo(delay) - absolute_delay(delay) - ie
		   : WIDEBAND_BEST - absolute_delay(delay) - ie;
	r = fmax(r, 0);
	/* wideband: G.107.1 Annex A */
	*out = (struct g107_rating){ r, mos_of(narrow ? r : r / 1.29),
				     !narrow };
	return true;
}
