/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the parameters of a request.
 */
#include "node/args.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/nearest.h"
#include "base/units.h"

int args_fail(struct args *a, const char *key, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	if (a->failed)
		return -EINVAL;
	a->failed = true;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return cr_fail(a->err, -EINVAL, "%s%s: %s", a->path, key, text);
}

struct args args_of(const json_t *object, const char *path,
		    const char *const *known, struct cr_err *err)
{
	struct args a = { .path = path, .err = err };
	const char *key;
	json_t *value;
	char hint[200];

	if (!object || json_is_null(object))
		return a;
	if (!json_is_object(object)) {
		(void)args_fail(&a, *path ? "" : "params", "must be an object");
		return a;
	}
	a.object = object;
	json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
		unsigned i = 0;

		while (known[i] && strcmp(known[i], key))
			i++;
		if (!known[i])
			(void)args_fail(
				&a, key, "unknown member; %s",
				nearest_hint(key, known, hint, sizeof(hint)));
	}
	return a;
}

const json_t *args_member(const struct args *a, const char *key)
{
	const json_t *v = a->object ? json_object_get(a->object, key) : NULL;

	return json_is_null(v) ? NULL : v;
}

bool args_has(const struct args *a, const char *key)
{
	return args_member(a, key) != NULL;
}

bool args_null(const struct args *a, const char *key)
{
	return a->object && json_is_null(json_object_get(a->object, key));
}

const char *args_string(struct args *a, const char *key, const char *dflt)
{
	const json_t *v = args_member(a, key);

	if (!v)
		return dflt;
	if (!json_is_string(v)) {
		(void)args_fail(a, key, "must be a string");
		return dflt;
	}
	return json_string_value(v);
}

int64_t args_int(struct args *a, const char *key, int64_t min, int64_t max,
		 int64_t dflt)
{
	const json_t *v = args_member(a, key);
	int64_t n;

	if (!v)
		return dflt;
	if (!json_is_integer(v)) {
		(void)args_fail(a, key, "must be a whole number");
		return dflt;
	}
	n = json_integer_value(v);
	if (n < min || n > max) {
		(void)args_fail(a, key,
				"%" PRId64 " is not within %" PRId64
				"..%" PRId64,
				n, min, max);
		return dflt;
	}
	return n;
}

bool args_bool(struct args *a, const char *key, bool dflt)
{
	const json_t *v = args_member(a, key);

	if (!v)
		return dflt;
	if (!json_is_boolean(v)) {
		(void)args_fail(a, key, "must be true or false");
		return dflt;
	}
	return json_is_true(v);
}

/* A bare number is milliseconds, as ptime is in SDP. */
static int time_of(const json_t *v, cr_ns *out)
{
	double ms;

	if (json_is_string(v))
		return units_parse_time(json_string_value(v), out);
	if (!json_is_number(v))
		return -EINVAL;
	ms = json_number_value(v);
	if (!(ms >= 0 && ms < 1e9))
		return -ERANGE;
	*out = (cr_ns)(ms * (double)CR_MS + 0.5);
	return 0;
}

cr_ns args_time(struct args *a, const char *key, cr_ns min, cr_ns max,
		cr_ns dflt)
{
	const json_t *v = args_member(a, key);
	cr_ns t;

	if (!v)
		return dflt;
	if (time_of(v, &t)) {
		(void)args_fail(a, key,
				"must be a time: \"20ms\", \"1.5s\", or a "
				"number of milliseconds");
		return dflt;
	}
	if (t < min || t > max) {
		(void)args_fail(a, key, "%g ms is not within %g..%g ms",
				(double)t / 1e6, (double)min / 1e6,
				(double)max / 1e6);
		return dflt;
	}
	return t;
}

/* Per second * 10^6. */
#define RATE_MIN INT64_C(1000)
#define RATE_MAX INT64_C(100000000000)

static int rate_of(const json_t *v, int64_t *out)
{
	double rate;

	if (json_is_string(v))
		return units_parse_rate(json_string_value(v), out);
	rate = json_is_number(v) ? json_number_value(v) : 0;
	if (!(rate > 0 && rate < 1e6))
		return -EINVAL;
	*out = (int64_t)(rate * 1e6 + 0.5);
	return 0;
}

int64_t args_rate(struct args *a, const char *key, int64_t dflt)
{
	const json_t *v = args_member(a, key);
	int64_t rate;

	if (!v)
		return dflt;
	if (!rate_of(v, &rate) && rate >= RATE_MIN && rate <= RATE_MAX)
		return rate;
	(void)args_fail(a, key,
			"must be a number per second, such as \"50/s\" or "
			"0.5, from 0.001 to 100000");
	return dflt;
}

int args_enum(struct args *a, const char *key, const char *const *names,
	      int dflt)
{
	const char *text = args_string(a, key, NULL);
	char hint[200];

	if (!text)
		return dflt;
	for (int i = 0; names[i]; i++)
		if (!strcmp(names[i], text))
			return i;
	(void)args_fail(a, key, "unknown '%s'; %s", text,
			nearest_hint(text, names, hint, sizeof(hint)));
	return dflt;
}

unsigned args_mode(struct args *a, const struct cr_codec *codec)
{
	const char *name = args_string(a, "mode", NULL);
	const char *names[33];
	char hint[200];
	unsigned n;
	int found;

	if (!name)
		return codec->default_mode;
	found = cr_codec_mode_find(codec, name);
	if (found >= 0)
		return (unsigned)found;
	for (n = 0; n < codec->nmodes && n < 32; n++)
		names[n] = codec->modes[n].name;
	names[n] = NULL;
	(void)args_fail(a, "mode", "%s has no mode '%s'; %s", codec->name, name,
			nearest_hint(name, names, hint, sizeof(hint)));
	return codec->default_mode;
}
