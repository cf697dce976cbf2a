/** What is done once in a cluster beside the components, whose control planes may be processes and static pods: each for itself, as not all do all of it. */

/** Held by whoever applies add-ons: a machine that has a directory of them. */
export const addonsLease = 'typernetes-addons'
/** Held by whoever gives addresses to services. */
export const loadBalancerLease = 'typernetes-load-balancer'
/** Held by the process that the service `metrics-server` leads to; a control plane in one process answers by itself. */
export const metricsLease = 'typernetes-metrics'
