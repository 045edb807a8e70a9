/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the texts of raw.h to the numbers of campaign.h: what every section of
 * the loader shares. Private to src/campaign.
 */
#ifndef CAMPAIGN_CONVERT_H
#define CAMPAIGN_CONVERT_H

#include <stdbool.h>
#include <stddef.h>

#include "campaign/places.h"
#include "campaign/raw.h"
#include "cr/error.h"
#include "cr/option.h"

/** The loader at work. */
struct loader {
	struct places places;
	struct cr_err *err;
};

/** A value: its option row (offset into the result) and its raw text. */
struct key_row {
	struct cr_opt opt; /**< name NULL ends a table */
	size_t raw;	   /**< offset of the text's pointer */
};

/** Rows of a key list whose members have the same names in both structs. */
#define KEY_ROW(raw_type, out_type, member, key, kind, min, max, dflt, names,  \
		help)                                                          \
	{ { key, help, kind, offsetof(out_type, member), min, max, dflt,       \
	    names },                                                           \
	  offsetof(raw_type, member) },
#define KEY_SKIP(member, key, help)

/** Path of @section below @path, in @buf[PLACE_MAX], which is returned. */
const char *convert_below(char *buf, const char *path, const char *section);

/** Values of sections whose public struct has another shape. */
#define VALUE_ROW(member, key, kind, min, max, dflt, names, help)              \
	int64_t member;

/**
 * Convert every row of @rows from @raw to @out, taking defaults for absent
 * keys. @path names the section. -EINVAL with the loader's error.
 */
int convert_rows(struct loader *l, const struct key_row *rows, const char *path,
		 const void *raw, void *out);

/**
 * "file:line: path: message" about @key (may be NULL) of section @path (may be
 * ""). Returns -EINVAL.
 */
__attribute__((format(printf, 4, 5))) int convert_fail(struct loader *l,
						       const char *path,
						       const char *key,
						       const char *fmt, ...);

/** Copy of @text; -ENOMEM. */
int convert_copy(struct loader *l, const char *text, char **out);

/** Copy of the list @from; @to and @count are written as it grows, so that
 * the campaign can free a half-made one. */
int convert_list(struct loader *l, char *const *from, unsigned n, char ***to,
		 unsigned *count);

/** Read the expectations of section @path into @out[NMETRICS]: of calls, of
 * conversions. */
struct campaign_expect;
int convert_expect(struct loader *l, const char *path,
		   const struct raw_expect *raw, struct campaign_expect *out);
int convert_conversions_expect(struct loader *l, const char *path,
			       const struct raw_conversions_expect *raw,
			       struct campaign_expect *out);

/** Read one side of calls, or what conversions make. */
struct campaign_leg;
int convert_leg(struct loader *l, const char *path, const struct raw_leg *raw,
		struct campaign_leg *leg);
/** Whether any of its keys is there. */
bool convert_leg_given(const struct raw_leg *raw);

/** Read the conversions of a campaign whose duration is there. */
struct campaign;
int convert_conversions(struct loader *l, const struct raw_conversions *raw,
			struct campaign *c);

/** Read cost and arrival models of the flow at @path, of which the rest is
 * there; without codecs they make it a synthetic one. */
struct campaign_flow;
int convert_models(struct loader *l, const char *path,
		   const struct raw_flow *raw, struct campaign_flow *f);

/** Read what only the arrival model "envelope" has, into @f, whose cost is
 * there; @path is the arrival's. */
int convert_envelope(struct loader *l, const char *path,
		     const struct raw_flow *raw, struct campaign_flow *f);

/** Read when the calls of the flow at @path begin, and how long they last. */
int convert_start(struct loader *l, const char *path,
		  const struct raw_flow *raw, struct campaign_flow *f);

/** Read the contract of the flow at @path, of which all that it may contradict
 * is there. */
int convert_contract(struct loader *l, const char *path,
		     const struct raw_flow *raw, struct campaign_flow *f);

/** Read "5/s" of @key in section @path into @ppm (per second * 10^6). */
int convert_rate(struct loader *l, const char *path, const char *key,
		 const char *text, int64_t *ppm);

/** Reads one value; 0 or -errno, as those of base/units.h. */
typedef int convert_parse_fn(const char *text, int64_t *out);

/** Read a value, or several with two dots between ("1ms..2ms"), into
 * @out[@most]. Returns how many; 0: one cannot be read, or they are too many,
 * and @out is of no use. */
unsigned convert_series(const char *text, convert_parse_fn *parse, int64_t *out,
			unsigned most);

/** Read flow number @i. */
int convert_flow(struct loader *l, unsigned i, const struct raw_flow *raw,
		 struct campaign_flow *out);

#endif
