/*
 * Gives tools on ibsim whole answers of the subnet administrator. Preload it behind libumad2sim.so.
 *
 * ibsim carries packets of 256 bytes and does no RMPP (the reliable multi-packet protocol: InfiniBand Architecture
 * Specification volume 1, 13.6), which on a real host is the kernel's work; so libumad2sim cuts an answer to its first
 * packet. And of each packet that it receives (0.10) it loses the last 32 bytes, for its buffer is too short by the
 * user MAD header. Here:
 *   umad_send   sends a long SA packet as RMPP DATA segments (no acknowledgements, no windows: nothing gets lost)
 *   read        keeps the last bytes of each datagram that libumad2sim receives
 *   umad_recv   puts them back, and puts segments together, as the kernel does
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MAD = 256, DATAGRAM = 288, MAD_AT = 32, LOST = 32, KEPT = MAD - LOST,
	CLASS_AT = 1, METHOD_AT = 3, TID_AT = 8, ATTRIBUTE_AT = 16, SA_CLASS = 3, RESPONSE = 0x80,
	RMPP_AT = 24, SEGMENT_AT = 28, LENGTH_AT = 32, HEADER = 56, DATA = MAD - HEADER, SA_HEADER = 20,
	RMPP_DATA = 1, ACTIVE = 1, FIRST = 2, LAST = 4, TAILS = 1 << 14,
};

extern size_t umad_size(void);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* The ends of datagrams that were read and not yet handed out, in the order in which they came. */
static struct { uint8_t mad[MAD]; int used; } tails[TAILS];
static unsigned next_tail, oldest_tail;
/* An answer that is being put together, or that waits for a larger buffer. */
static uint8_t *whole;
static size_t whole_length;
static int whole_ready, whole_agent;

static uint32_t get32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
}

static void put32(uint8_t *at, uint32_t value)
{
	at[0] = value >> 24, at[1] = value >> 16, at[2] = value >> 8, at[3] = value;
}

ssize_t read(int fd, void *buffer, size_t count)
{
	static ssize_t (*real)(int, void *, size_t);
	if (!real)
		real = dlsym(RTLD_NEXT, "read");
	ssize_t got = real(fd, buffer, count);
	if (got == DATAGRAM && count == DATAGRAM) {
		pthread_mutex_lock(&lock);
		memcpy(tails[next_tail % TAILS].mad, (uint8_t *)buffer + MAD_AT, MAD);
		tails[next_tail % TAILS].used = 0;
		next_tail++;
		if (next_tail - oldest_tail > TAILS)
			oldest_tail = next_tail - TAILS;
		pthread_mutex_unlock(&lock);
	}
	return got;
}

/* The transaction's upper half is rewritten on the way. */
static int same(const uint8_t *a, const uint8_t *b)
{
	return !memcmp(a, b, TID_AT) && !memcmp(a + TID_AT + 4, b + TID_AT + 4, KEPT - TID_AT - 4);
}

static void repair(uint8_t *mad)
{
	pthread_mutex_lock(&lock);
	for (unsigned at = oldest_tail; at != next_tail; at++)
		if (!tails[at % TAILS].used && same(tails[at % TAILS].mad, mad)) {
			memcpy(mad + KEPT, tails[at % TAILS].mad + KEPT, LOST);
			tails[at % TAILS].used = 1;
			break;
		}
	while (oldest_tail != next_tail && tails[oldest_tail % TAILS].used)
		oldest_tail++;
	pthread_mutex_unlock(&lock);
}

int umad_send(int fd, int agent, void *umad, int length, int timeout_ms, int retries)
{
	static int (*real)(int, int, void *, int, int, int);
	if (!real)
		real = dlsym(RTLD_NEXT, "umad_send");
	size_t front = umad_size();
	uint8_t *mad = (uint8_t *)umad + front;
	if (mad[CLASS_AT] != SA_CLASS || length <= MAD)
		return real(fd, agent, umad, length, timeout_ms, retries);
	uint8_t *packet = calloc(1, front + MAD);
	int left = length - HEADER, result = 0;
	for (uint32_t segment = 1; left > 0 && !result; segment++, left -= DATA) {
		int size = left < DATA ? left : DATA;
		memset(packet + front, 0, MAD);
		memcpy(packet, umad, front + HEADER);
		memcpy(packet + front + HEADER, mad + length - left, size);
		packet[front + RMPP_AT] = 1;
		packet[front + RMPP_AT + 1] = RMPP_DATA;
		packet[front + RMPP_AT + 2] = ACTIVE | (segment == 1 ? FIRST : 0) | (left <= DATA ? LAST : 0);
		packet[front + RMPP_AT + 3] = 0;
		put32(packet + front + SEGMENT_AT, segment);
		put32(packet + front + LENGTH_AT, left <= DATA ? SA_HEADER + size : segment == 1 ? length - 36 : 0);
		result = real(fd, agent, packet, MAD, timeout_ms, retries);
	}
	free(packet);
	return result;
}

int umad_recv(int fd, void *umad, int *length, int timeout_ms)
{
	static int (*real)(int, void *, int *, int);
	if (!real)
		real = dlsym(RTLD_NEXT, "umad_recv");
	size_t front = umad_size();
	uint8_t *mad = (uint8_t *)umad + front;
	int room = *length;
	while (!whole_ready) {
		*length = room;
		int agent = real(fd, umad, length, timeout_ms);
		if (agent < 0 || *length < MAD)
			return agent;
		repair(mad);
		int flags = mad[RMPP_AT + 2] & (ACTIVE | FIRST | LAST);
		if (mad[CLASS_AT] != SA_CLASS || !(mad[METHOD_AT] & RESPONSE) || !(flags & ACTIVE) ||
		    mad[RMPP_AT + 1] != RMPP_DATA || flags == (ACTIVE | FIRST | LAST))
			return agent;
		if (flags & FIRST) {
			whole = realloc(whole, front + HEADER);
			memcpy(whole, umad, front + HEADER);
			whole_length = HEADER;
		}
		size_t size = flags & LAST ? get32(mad + LENGTH_AT) - SA_HEADER : DATA;
		whole = realloc(whole, front + whole_length + size);
		memcpy(whole + front + whole_length, mad + HEADER, size);
		whole_length += size;
		whole_agent = agent;
		whole_ready = !!(flags & LAST);
	}
	*length = whole_length;
	if (room < (int)whole_length) {
		errno = ENOSPC;
		return -ENOSPC;
	}
	memcpy(umad, whole, front + whole_length);
	whole_ready = 0;
	return whole_agent;
}
