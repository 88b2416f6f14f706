/*
 * A host channel adapter for ibacm on a simulated fabric.
 *
 * ibacm wants a device of libibverbs, and ibsim simulates management datagrams only. Preloaded, this library answers the
 * calls that ibacm makes of libibverbs for one adapter with one port, as the environment describes it:
 *
 *   ACM_HCA_NAME    the name by which libibumad knows the port
 *   ACM_HCA_GUID    the node GUID, in hexadecimal digits
 *   ACM_HCA_GIDS    the GID table, GIDs in IPv6 notation with commas between
 *   ACM_HCA_PKEYS   the P_Key table, in hexadecimal digits with commas between
 *   ACM_HCA_LIDS    the LID of the port and that of its subnet manager, with a comma between
 *
 * What is sent completes and reaches nobody; nothing is ever received. And ibacm's files below /run are made in the folder
 * ACM_HCA_RUN instead, so that the one of the machine, if there is one, is left alone.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#undef ibv_query_port
#undef ibv_reg_mr

#define TABLE_LENGTH 16
#define QUEUE_LENGTH 4096

static struct ibv_device device;
static struct ibv_context context;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Sends that have completed and were not polled yet; one ring for all completion queues is enough for one thread. */
static struct completion {
	struct ibv_cq *cq;
	uint64_t wr_id;
} done[QUEUE_LENGTH];
static unsigned int first, count;
static int events[2] = {-1, -1};

static const char *setting(const char *name)
{
	const char *value = getenv(name);

	if (!value) {
		fprintf(stderr, "acm_hca: %s is not set\n", name);
		exit(70);
	}
	return value;
}

/* The entry of a list with commas between, or NULL behind its end. */
static const char *entry(const char *name, int index, char *text, size_t size)
{
	const char *start = setting(name), *end;

	while (index-- > 0) {
		start = strchr(start, ',');
		if (!start)
			return NULL;
		start++;
	}
	end = strchrnul(start, ',');
	if (end == start || (size_t)(end - start) >= size)
		return NULL;
	memcpy(text, start, end - start);
	text[end - start] = 0;
	return text;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return 0;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct ibv_cq *cq = qp->send_cq;

	pthread_mutex_lock(&lock);
	if (count < QUEUE_LENGTH)
		done[(first + count++) % QUEUE_LENGTH] = (struct completion){cq, wr->wr_id};
	pthread_mutex_unlock(&lock);
	return write(events[1], &cq, sizeof cq) == sizeof cq ? 0 : EIO;
}

static int poll_cq(struct ibv_cq *cq, int number, struct ibv_wc *wc)
{
	int found = 0;

	pthread_mutex_lock(&lock);
	if (number > 0 && count && done[first].cq == cq) {
		memset(wc, 0, sizeof *wc);
		wc->wr_id = done[first].wr_id;
		wc->opcode = IBV_WC_SEND;
		first = (first + 1) % QUEUE_LENGTH;
		count--;
		found = 1;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	return 0;
}

struct ibv_device **ibv_get_device_list(int *number)
{
	struct ibv_device **list = calloc(2, sizeof *list);

	snprintf(device.name, sizeof device.name, "%s", setting("ACM_HCA_NAME"));
	device.node_type = IBV_NODE_CA;
	device.transport_type = IBV_TRANSPORT_IB;
	list[0] = &device;
	if (number)
		*number = 1;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *of)
{
	return of->name;
}

__be64 ibv_get_device_guid(struct ibv_device *of)
{
	return htobe64(strtoull(setting("ACM_HCA_GUID"), NULL, 16));
}

struct ibv_context *ibv_open_device(struct ibv_device *of)
{
	if (events[0] < 0 && pipe(events))
		return NULL;
	context.device = of;
	context.ops.post_send = post_send;
	context.ops.post_recv = post_recv;
	context.ops.poll_cq = poll_cq;
	context.ops.req_notify_cq = req_notify_cq;
	if (!context.async_fd) {
		int silent[2];

		if (pipe(silent))
			return NULL;
		context.async_fd = silent[0];
	}
	return &context;
}

int ibv_close_device(struct ibv_context *of)
{
	return 0;
}

int ibv_query_device(struct ibv_context *of, struct ibv_device_attr *attr)
{
	memset(attr, 0, sizeof *attr);
	attr->phys_port_cnt = 1;
	attr->node_guid = ibv_get_device_guid(of->device);
	return 0;
}

int ibv_query_port(struct ibv_context *of, uint8_t port, struct _compat_ibv_port_attr *compat)
{
	struct ibv_port_attr attr;
	char text[16];

	memset(&attr, 0, sizeof attr);
	attr.state = IBV_PORT_ACTIVE;
	attr.link_layer = IBV_LINK_LAYER_INFINIBAND;
	attr.lid = strtoul(entry("ACM_HCA_LIDS", 0, text, sizeof text) ? text : "0", NULL, 0);
	attr.sm_lid = strtoul(entry("ACM_HCA_LIDS", 1, text, sizeof text) ? text : "0", NULL, 0);
	attr.gid_tbl_len = attr.pkey_tbl_len = TABLE_LENGTH;
	attr.active_mtu = attr.max_mtu = IBV_MTU_4096;
	attr.active_width = 2; /* 4x */
	attr.active_speed = 32; /* EDR */
	attr.subnet_timeout = 18;
	/* The caller's is the struct of libibverbs 1.0, without what was added behind link_layer. */
	memcpy(compat, &attr, offsetof(struct ibv_port_attr, link_layer) + sizeof attr.link_layer);
	return 0;
}

int ibv_query_gid(struct ibv_context *of, uint8_t port, int index, union ibv_gid *gid)
{
	char text[64];

	memset(gid, 0, sizeof *gid);
	if (index >= TABLE_LENGTH)
		return EINVAL;
	if (entry("ACM_HCA_GIDS", index, text, sizeof text) && inet_pton(AF_INET6, text, gid) != 1)
		return EINVAL;
	return 0;
}

int ibv_query_pkey(struct ibv_context *of, uint8_t port, int index, __be16 *pkey)
{
	char text[16];

	if (index >= TABLE_LENGTH)
		return EINVAL;
	*pkey = entry("ACM_HCA_PKEYS", index, text, sizeof text) ? htobe16(strtoul(text, NULL, 16)) : 0;
	return 0;
}

int ibv_get_pkey_index(struct ibv_context *of, uint8_t port, __be16 pkey)
{
	__be16 other;
	int index;

	for (index = 0; !ibv_query_pkey(of, port, index, &other); index++)
		if (other == pkey)
			return index;
	return -1;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *of)
{
	struct ibv_pd *pd = calloc(1, sizeof *pd);

	pd->context = of;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *of)
{
	struct ibv_comp_channel *channel = calloc(1, sizeof *channel);

	channel->context = of;
	channel->fd = events[0];
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	free(channel);
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *of, int size, void *own, struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *cq = calloc(1, sizeof *cq);

	cq->context = of;
	cq->channel = channel;
	cq->cq_context = own;
	cq->cqe = size;
	return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	free(cq);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **own)
{
	while (read(events[0], cq, sizeof *cq) != sizeof *cq)
		pause();
	*own = (*cq)->cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int number)
{
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	static uint32_t number = 0x48;
	struct ibv_qp *qp = calloc(1, sizeof *qp);

	qp->context = pd->context;
	qp->pd = pd;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->qp_type = attr->qp_type;
	qp->qp_num = number++;
	return qp;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	free(qp);
	return 0;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	struct ibv_mr *mr = calloc(1, sizeof *mr);

	mr->context = pd->context;
	mr->pd = pd;
	mr->addr = address;
	mr->length = length;
	return mr;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	free(mr);
	return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah *ah = calloc(1, sizeof *ah);

	ah->context = pd->context;
	ah->pd = pd;
	return ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	free(ah);
	return 0;
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return 0;
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return 0;
}

int ibv_get_async_event(struct ibv_context *of, struct ibv_async_event *event)
{
	return -1;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
}

/* ibacm's files below /run are made elsewhere. */

static const char *elsewhere(const char *path, char *text, size_t size)
{
	if (!path || strncmp(path, "/run/ibacm", 10))
		return path;
	snprintf(text, size, "%s%s", setting("ACM_HCA_RUN"), path + strlen("/run"));
	return text;
}

int unlink(const char *path)
{
	char text[256];

	return unlinkat(-100 /* AT_FDCWD */, elsewhere(path, text, sizeof text), 0);
}

int symlink(const char *target, const char *path)
{
	char text[256];

	return symlinkat(target, -100 /* AT_FDCWD */, elsewhere(path, text, sizeof text));
}

int bind(int fd, const struct sockaddr *address, socklen_t length)
{
	int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "bind");
	const struct sockaddr_un *local = (const struct sockaddr_un *)address;
	struct sockaddr_un other = {.sun_family = AF_UNIX};
	char text[256];
	const char *path;

	if (address->sa_family != AF_UNIX || (path = elsewhere(local->sun_path, text, sizeof text)) == local->sun_path)
		return real(fd, address, length);
	if (snprintf(other.sun_path, sizeof other.sun_path, "%s", path) >= (int)sizeof other.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return real(fd, (struct sockaddr *)&other, sizeof other);
}

FILE *fopen(const char *path, const char *mode)
{
	FILE *(*real)(const char *, const char *) = dlsym(RTLD_NEXT, "fopen");
	char text[256];

	return real(elsewhere(path, text, sizeof text), mode);
}
