/* SPDX-License-Identifier: MIT */
#include "mcp/place.h"

#include "base/log.h"
#include "base/path.h"

static void on_offer(void *arg, int fd)
{
    struct mcp_room *r = arg;
    struct error err;
    proxy_free(r->proxy);
    r->proxy = proxy_new(r->loop, fd, r->hosts, &err);
    if (!r->proxy)
        log_warn("no proxy for an MCP server: %s", err.text);
}

bool mcp_network(const struct mcp_place *p, const struct mcp_config *c, struct buf *ret)
{
    bool is_on = c->network == MCP_NET_ON || (c->network == MCP_NET_USUAL && !p->is_required);
    struct str wanted = c->network == MCP_NET_HOSTS ? c->hosts : is_on ? STR("on") : STR("off");
    if (p->limit_net)
        p->limit_net(wanted, ret);
    else
        buf_add(ret, wanted);
    return !str_eq(buf_str(ret), wanted);
}

static bool choose_network(struct mcp_room *r, const struct mcp_place *p,
                           const struct mcp_config *c, struct sandbox_policy *policy,
                           struct error *err)
{
    AUTO(buf) struct buf network = BUF_INIT;
    if (mcp_network(p, c, &network))
        log_warn("MCP server %.*s: the policy of this machine limits its network: %s",
                 STR_FMT(c->name), network.p);
    policy->network = str_is(buf_str(&network), "on");
    if (policy->network || str_is(buf_str(&network), "off"))
        return true;
    r->hosts = xnew(struct host_list);
    policy->proxied = host_list_parse(buf_str(&network), r->hosts, err);
    return policy->proxied || error_prefix(err, "network");
}

bool mcp_room_init(struct mcp_room *r, const struct mcp_place *p, const struct mcp_config *c,
                   struct error *err)
{
    *r = (struct mcp_room){.loop = p->loop};
    if (c->is_unconfined && p->is_required)
        return error_set(err, ERR_DENIED,
                         "TRIVET_SANDBOX=require lets no server run outside of the sandbox");
    if (p->is_open || c->is_unconfined) {
        r->room = room_new(p->loop, NULL);
        return true;
    }
    AUTO(sandbox_policy) struct sandbox_policy policy = SANDBOX_POLICY_INIT;
    sandbox_policy_init(&policy, p->is_read_only ? SANDBOX_READ_ONLY : SANDBOX_WORKSPACE_WRITE,
                        str_of(p->root));
    policy.is_required = p->is_required;
    policy.has_mounts = p->report->can[SANDBOX_MOUNTS];
    policy.has_loopback = p->report->has_loopback;
    policy.shows_tmp = policy.shows_tmp && policy.has_mounts;
    if (c->dir.n)
        sandbox_paths_add(&policy.writable, c->dir);
    policy.limits[SANDBOX_CPU] = 0; /* it lives as long as the session */
    if (!choose_network(r, p, c, &policy, err)) {
        mcp_room_clear(r);
        return false;
    }
    char **args = sandbox_policy_encode(&policy);
    r->room = room_new(p->loop, (const char *const *)args);
    sandbox_arguments_free(args);
    if (policy.proxied)
        room_on_offer(r->room, on_offer, r);
    return true;
}

void mcp_room_clear(struct mcp_room *r)
{
    room_free(take(&r->room));
    proxy_free(take(&r->proxy));
    if (r->hosts)
        host_list_clear(r->hosts);
    free(take(&r->hosts));
}

void mcp_log_path(struct buf *out, struct str name)
{
    path_xdg(out, "XDG_STATE_HOME", ".local/state");
    buf_addf(out, "/trivet/mcp/%.*s.log", STR_FMT(name));
}
