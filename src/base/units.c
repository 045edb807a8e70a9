/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsing and printing of times, shares and integers. Knows no options and
 * no bounds: those belong to the tables that use it.
 */
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A decimal number: whole + billionths / 1e9, with a sign of its own because
 * "-0.5" has a whole part of zero. */
struct decimal {
	bool negative;
	int64_t whole;
	int64_t billionths;
};

struct unit {
	const char *name;
	int64_t size;
};

static const struct unit time_units[] = {
	{ "ns", 1 },
	{ "us", CR_US },
	{ "ms", CR_MS },
	{ "s", CR_SEC },
	{ "min", 60 * CR_SEC },
	{ "m", 60 * CR_SEC },
	{ "h", 3600 * CR_SEC },
	{ NULL, 0 },
};

static const struct unit share_units[] = {
	{ "", 1000000 },
	{ "%", 10000 },
	{ "ppm", 1 },
	{ NULL, 0 },
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads a decimal at *@p and moves *@p behind it. */
static int read_decimal(const char **p, struct decimal *d)
{
	int64_t scale = 100000000;

	memset(d, 0, sizeof(*d));
	if (**p == '-' || **p == '+')
		d->negative = *(*p)++ == '-';
	if (!is_digit(**p))
		return -EINVAL;
	for (; is_digit(**p); (*p)++) {
		if (__builtin_mul_overflow(d->whole, 10, &d->whole) ||
		    __builtin_add_overflow(d->whole, **p - '0', &d->whole))
			return -ERANGE;
	}
	if (**p != '.')
		return 0;
	(*p)++;
	if (!is_digit(**p))
		return -EINVAL;
	for (; is_digit(**p); (*p)++) {
		if (!scale && **p != '0')
			return -EINVAL;
		d->billionths += (**p - '0') * scale;
		scale /= 10;
	}
	return 0;
}

static int scale_decimal(const struct decimal *d, int64_t unit, int64_t *out)
{
	const int64_t billion = 1000000000;
	int64_t part, value;

	/* A unit is below a billion or a multiple of it: no overflow. */
	if (unit >= billion) {
		part = d->billionths * (unit / billion);
	} else {
		if (d->billionths * unit % billion)
			return -EINVAL;
		part = d->billionths * unit / billion;
	}
	if (__builtin_mul_overflow(d->whole, unit, &value) ||
	    __builtin_add_overflow(value, part, &value))
		return -ERANGE;
	*out = d->negative ? -value : value;
	return 0;
}

static int parse_with(const char *text, const struct unit *units, int64_t *out)
{
	struct decimal d;
	int rc = read_decimal(&text, &d);

	if (rc)
		return rc;
	for (; units->name; units++)
		if (!strcmp(text, units->name))
			return scale_decimal(&d, units->size, out);
	return -EINVAL;
}

int units_parse_time(const char *text, cr_ns *out)
{
	if (!strcmp(text, "0")) {
		*out = 0;
		return 0;
	}
	return parse_with(text, time_units, out);
}

int units_parse_ppm(const char *text, int64_t *out)
{
	return parse_with(text, share_units, out);
}

int units_parse_rate(const char *text, int64_t *out)
{
	static const struct unit rates[] = { { "/s", 1000000 }, { NULL, 0 } };

	return parse_with(text, rates, out);
}

int units_parse_int(const char *text, int64_t *out)
{
	static const struct unit plain[] = { { "", 1 }, { NULL, 0 } };

	if (strchr(text, '.'))
		return -EINVAL;
	return parse_with(text, plain, out);
}

/* Writes the non-negative @value / @unit with the decimals it needs. */
static void print_scaled(uint64_t value, uint64_t unit, const char *name,
			 char *buf, size_t size)
{
	char digits[24];
	size_t len;
	uint64_t rest = value % unit, step = unit / 10;
	int at = snprintf(digits, sizeof(digits), "%" PRIu64, value / unit);

	len = (size_t)at;
	if (rest)
		digits[len++] = '.';
	for (; rest && len < sizeof(digits) - 1; step /= 10) {
		digits[len++] = (char)('0' + rest / step);
		rest %= step;
	}
	digits[len] = '\0';
	(void)snprintf(buf, size, "%s%s", digits, name);
}

const char *units_format_time(cr_ns t, char *buf, size_t size)
{
	static const struct unit down[] = {
		{ "s", CR_SEC }, { "ms", CR_MS }, { "us", CR_US }, { "ns", 1 }
	};
	uint64_t value = t < 0 ? -(uint64_t)t : (uint64_t)t;
	size_t sign = t < 0 && size > 1, i = 0;

	if (t == CR_NEVER || t == 0) {
		(void)snprintf(buf, size, "%s", t ? "never" : "0");
		return buf;
	}
	if (sign)
		buf[0] = '-';
	while (value < (uint64_t)down[i].size)
		i++;
	print_scaled(value, (uint64_t)down[i].size, down[i].name, buf + sign,
		     size - sign);
	return buf;
}

/* Writes @value / @unit with its sign. */
static const char *format_scaled(int64_t value, uint64_t unit, const char *name,
				 char *buf, size_t size)
{
	uint64_t amount = value < 0 ? -(uint64_t)value : (uint64_t)value;
	size_t sign = value < 0 && size > 1;

	if (sign)
		buf[0] = '-';
	print_scaled(amount, unit, name, buf + sign, size - sign);
	return buf;
}

const char *units_format_ppm(int64_t ppm, char *buf, size_t size)
{
	return format_scaled(ppm, 10000, "%", buf, size);
}

const char *units_format_rate(int64_t rate, char *buf, size_t size)
{
	return format_scaled(rate, 1000000, "/s", buf, size);
}
