/** The lease by which a node that answers for load balancers says every few seconds that it still does. */
export const loadBalancerLeaseNamespace = 'kube-system'
export const loadBalancerLeaseName = (nodeName: string): string => `load-balancer-${nodeName}`
export const loadBalancerBeatMs = 2000
/** A node that was not heard of for so long has given its addresses up by itself. */
export const loadBalancerLifeSeconds = 12
export const loadBalancerSilenceMs = 15_000
