/** On a Service: the node that answers for its load balancer's addresses. */
export const loadBalancerNodeAnnotation = 'loadbalancer.typernetes.io/node'
