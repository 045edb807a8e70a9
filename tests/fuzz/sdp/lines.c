/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutation by whole lines: most that changes octets only is refused by the
 * gate, and never comes to the reader behind it. Of libFuzzer builds only.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
			       unsigned seed);

static const char *const lines[] = {
	"i=x\n",
	"u=x\n",
	"e=x\n",
	"p=x\n",
	"s= \n",
	"c=IN IP4 192.0.2.1\n",
	"c=IN IP6 2001:db8::1/3\n",
	"c=IN IP4 233.252.0.1/127/3\n",
	"b=AS:80\n",
	"b=x:4294967295\n",
	"t=1 2\n",
	"r=7d 1h 0 25h\n",
	"z=2882844526 -1h 2898848070 0\n",
	"k=prompt\n",
	"k=clear:x\n",
	"m=audio 4 RTP/AVP 0 8 96\n",
	"m=audio 4/2 RTP 96 96\n",
	"m=audio 65535 RTP/AVPF 96 97 9\n",
	"m=audio 0 RTP/AVP\n",
	"m=video 4 RTP/SAVP 96\n",
	"m=audio 9 UDP/TLS/RTP/SAVPF 96 9\n",
	"m=image 4 udptl t38\n",
	"m=application 4 TCP/BFCP *\n",
	"m=message 4 TCP/MSRP *\n",
	"m=x 9 UDP/DTLS/SCTP y\n",
	"a=rtpmap:96 AMR/8000/1\n",
	"a=rtpmap:0 x/4294967295/255\n",
	"a=rtpmap:97 opus/48000/2\n",
	"a=fmtp:96 mode-set=7\n",
	"a=fmtp:0\n",
	"a=fmtp:x y\n",
	"a=rtcp:5 IN IP6 ::1\n",
	"a=rtcp:0\n",
	"a=rtcp-mux\n",
	"a=ptime:20\n",
	"a=maxptime:2.5\n",
	"a=sendonly\n",
	"a=inactive:x\n",
	"a=charset:x\n",
	"a=charset\n",
	"a=candidate:x\n",
	"a=x::y\n",
	"a=x:\n",
};

/* A start of a line of @data, or its end. */
static size_t boundary(const uint8_t *data, size_t size)
{
	size_t at = size ? (size_t)rand() % (size + 1) : 0;

	while (at < size && at && data[at - 1] != '\n')
		at++;
	return at;
}

static size_t insert(uint8_t *data, size_t size, size_t max, size_t at,
		     const void *what, size_t bytes)
{
	if (bytes > max - size)
		return size;
	memmove(data + at + bytes, data + at, size - at);
	memcpy(data + at, what, bytes);
	return size + bytes;
}

/* Some lines of it go, or come once more elsewhere. */
static size_t move(uint8_t *data, size_t size, size_t max, int keep)
{
	size_t a = boundary(data, size), b = boundary(data, size);
	size_t from = a < b ? a : b, bytes = a < b ? b - a : a - b;
	uint8_t some[512];

	if (!bytes || bytes > sizeof(some))
		return size;
	memcpy(some, data + from, bytes);
	if (!keep) {
		memmove(data + from, data + from + bytes, size - from - bytes);
		size -= bytes;
	}
	return rand() % 2 ? insert(data, size, max, boundary(data, size), some,
				   bytes)
			  : size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
			       unsigned seed)
{
	const char *line;

	srand(seed);
	switch (rand() % 4) {
	case 0:
		line = lines[(size_t)rand() % (sizeof(lines) / sizeof(*lines))];
		return insert(data, size, max, boundary(data, size), line,
			      strlen(line));
	case 1:
		return move(data, size, max, rand() % 2);
	default:
		return LLVMFuzzerMutate(data, size, max);
	}
}
