/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A section of a campaign file as it was written: texts and lines by key, and
 * the one place where a message gets its file and line. section.c makes
 * them, the readers of flow.c and campaign.c take what they need. Private to
 * src/campaign; one thread.
 *
 * A section whose keys are all absent is there all the same, so that its
 * defaults are. Asking for a key that its table does not have is a bug.
 *
 * The keys of a file are in tables, each once: what it is called, means, may
 * be, and where its value goes. From these come parsing, the refusal of other
 * keys, bounds and defaults.
 */
#ifndef CAMPAIGN_SECTION_H
#define CAMPAIGN_SECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/field.h"
#include "campaign/campaign.h"

/** The whole file. */
extern const struct field campaign_keys[];

/** Its expectations, by enum campaign_metric: of calls [NCALL_METRICS], of
 * conversions [NMETRICS - NCALL_METRICS]. */
extern const struct field expect_keys[], conversions_expect_keys[];

/** Source of values: the file, or a setting, which replaces the file's value of
 * a key. */
struct campaign_file {
	const char *name; /**< in messages: the path, or "--set KEY=VALUE" */
	struct cr_err *err;
	bool setting; /**< messages name no line */
};

/** Value of a key: a text, a list, or a section of further keys. */
struct section {
	const struct campaign_file *file; /**< where it begins               */
	unsigned line;			  /**< the same, from 1; 0: absent   */
	struct section *in;	 /**< what is around it; NULL: it is the file */
	const struct field *key; /**< its own; NULL: it is the file          */
	int entry;		 /**< of the list around it; -1: of none      */
	char *text;
	struct section *below; /**< entries of a list; of a section, each of
				    its keys, in their order                 */
	unsigned count;	       /**< of these                                 */
	const char **texts; /**< of a FIELD_TEXTS, once its entries are read */
};

/** The message that says so. Returns -ENOMEM. */
int campaign_no_memory(const struct campaign_file *f);

/** Free all below @s. */
void section_fini(struct section *s);

/** Read @bytes of YAML at @text into @top, which is all zero: 0; -EINVAL or
 * -ENOMEM with @f's error, also for keys that are unknown, twice or missing,
 * and values of another kind. In any case section_fini(@top). */
int section_parse(const struct campaign_file *f, const char *text, size_t bytes,
		  struct section *top);

/**
 * Put a setting, "flows.speech.load=110%", in the place of what the file says
 * to that key; "KEY=" takes the key away. Sections are parted by dots. A flow
 * has its name or, as in messages, its number: flows[0]. 0, or
 * -EINVAL or -ENOMEM with the error of @f, which has to outlive @top.
 */
int section_set(struct section *top, const struct campaign_file *f,
		const char *setting);

/** Is every key there that must be? 0, or -EINVAL with the error. */
int section_check_complete(const struct section *s);

/** The rows of a section's keys. */
const struct field *section_keys(const struct section *s);

/** The value of key @name of @s. */
struct section *section_get(const struct section *s, const char *name);

/** Has the file key @name? And its text, or NULL. */
bool section_has(const struct section *s, const char *name);
const char *section_text(const struct section *s, const char *name);

/** Is it in the file: of a section, any key of it or below? */
bool section_any(const struct section *s);

/** The line of key @name (NULL: of the section), or of what is around. */
unsigned section_line(const struct section *s, const char *name);

/** Put every value that has a member, here and below, into @out, the struct of
 * this section, or its default, and check the others; texts, and lists of them,
 * are the section's. -EINVAL or -ENOMEM with the error. */
int section_values(struct section *s, void *out);

/** Do the keys that are there go with @model, and are those there that it
 * needs? It is a value of the first key; or it is called @what. 0, or -EINVAL
 * with the error. */
int section_check_model(const struct section *s, int64_t model,
			const char *what);

/** Models of a flow. */
enum flow_kind { FLOW_ONE_WAY, FLOW_TWO_WAY, FLOW_SYNTHETIC };

/** The number, or two of a FIELD_RANGE, of a value that section_values() has
 * checked. */
struct field_range section_range(const struct section *s, const char *name);

/** "file:line: path: message" about key @name (NULL: the section). Returns
 * -EINVAL. */
__attribute__((format(printf, 3, 4))) int section_fail(const struct section *s,
						       const char *name,
						       const char *fmt, ...);

/* --- the parts of a campaign, checked: their values are read --- */

/** Read an expect section, whose metrics begin at @first. */
int read_expect(const struct section *s, enum campaign_metric first,
		struct campaign_expect *out);

/** One side of calls, or what conversions make, whose values are read. */
int section_check_codec(const struct section *s, struct codec_use *endpoint);

/** Is flow @s a two-way flow? */
bool section_is_two_way(const struct section *s);

/** Flow number @i into @f; a two-way flow's are two: from a, from b.
 */
int read_flow(struct section *s, unsigned i, struct campaign_flow f[2]);

#endif
