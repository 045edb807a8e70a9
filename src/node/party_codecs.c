/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a party speaks, checked. Texts that a request names are replaced by
 * those of the codecs, which stay.
 */
#include "node/party_codecs.h"

#include <errno.h>
#include <stdio.h>

#include "node/call_check_side.h"
#include "node/packet_time.h"

/* Into @to, with texts that stay. */
static int check_side(struct call_side_request *to,
		      const struct call_side_request *from, const char *path,
		      struct cr_err *e)
{
	struct pipeline_side side = { 0 };
	int err = call_check_side(&side, from, path, e);

	if (err)
		return err;
	*to = *from;
	to->codec = side.codec->name;
	if (from->mode)
		to->mode = side.codec->modes[side.cfg.mode].name;
	return 0;
}

static int check_also(struct party_codecs *to,
		      const struct call_side_request *from, const char *path,
		      struct cr_err *e)
{
	char inner[40];
	int err = 0;

	for (unsigned i = 0; i < to->nalso && !err; i++) {
		(void)snprintf(inner, sizeof(inner), "%salso[%u].", path, i);
		err = check_side(&to->also[i], &from[i], inner, e);
	}
	return err;
}

bool party_says_use(const struct call_side_request *r)
{
	return r->mode || r->pt >= 0 || r->rate || r->octet_align || r->dtx ||
	       r->mode_set || r->mode_second || r->mode_next ||
	       r->complexity >= 0 || r->fec || r->spin;
}

/* What is said of a codec that is not named. */
static int check_named(const struct call_side_request *r, const char *path,
		       struct cr_err *e)
{
	if (r->codec || !party_says_use(r))
		return 0;
	return cr_fail(e, -EINVAL,
		       "%scodec: is missing: what is said of a codec goes with "
		       "its name",
		       path);
}

/* Can its codec be sent in packets of that length? */
static int check_packets(const struct party_codecs *codecs, const char *path,
			 struct cr_err *e)
{
	struct pipeline_side side = { 0 };
	int err;

	if (!codecs->side.codec || !codecs->ptime)
		return 0;
	err = call_check_side(&side, &codecs->side, path, e);
	return err ? err : packet_time_set(&side, codecs->ptime, path, e);
}

/* What is said with a codec, into @to. */
static int check_named_ones(struct party_codecs *to,
			    const struct party_codecs *said, const char *path,
			    struct cr_err *e)
{
	struct party_codecs all = { .nalso = said->nalso,
				    .passed = said->passed,
				    .in_ptime = to->in_ptime };
	int err = check_side(&all.side, &said->side, path, e);

	if (!err)
		err = check_also(&all, said->also, path, e);
	if (!err)
		*to = all;
	return err;
}

int party_codecs_take(struct party_codecs *to, const struct party_codecs *said,
		      const char *path, struct cr_err *e)
{
	struct party_codecs all = *to;
	int err = check_named(&said->side, path, e);

	if (!err && said->nalso && !said->side.codec)
		err = cr_fail(e, -EINVAL,
			      "%scodec: is missing: what is also sent goes "
			      "with it",
			      path);
	if (!err && said->side.codec)
		err = check_named_ones(&all, said, path, e);
	if (said->ptime)
		all.ptime = said->ptime;
	if (said->in_ptime)
		all.in_ptime = said->in_ptime;
	if (!err)
		err = check_packets(&all, path, e);
	if (!err)
		*to = all;
	return err;
}
