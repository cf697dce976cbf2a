/** What services use of a quota. Ports of nodes are counted before they are given out, so intent counts. */
import { countName, one, type QuotaEvaluator } from '#api/core/v1/quota/evaluator.ts'
import type { Quantities } from '#api/core/v1/resources.ts'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import { quantityOf, zeroQuantity } from '#api/meta/quantity.ts'

const services = { group: '', resource: 'services' }
const count = countName(services)
const names = [count, 'services', 'services.nodeports', 'services.loadbalancers']

export const serviceEvaluator: QuotaEvaluator = {
  ...services,
  handles: ({ operation, subresource }) => subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'),
  matchingNames: (given) => given.filter((name) => names.includes(name)).sort(),
  usage: (object) => serviceUsage(object as V1Service),
  mayHaveShrunk: (next, prev) => countedType(next as V1Service) !== countedType(prev as V1Service),
}

function serviceUsage({ spec }: V1Service): Quantities {
  return {
    [count]: one,
    services: one,
    'services.loadbalancers': spec?.type === 'LoadBalancer' ? one : zeroQuantity,
    'services.nodeports': quantityOf(nodePorts(spec)),
  }
}

function nodePorts(spec: V1Service['spec'] | undefined): number {
  const ports = spec?.ports ?? []
  if (spec?.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts === false) {
    return ports.filter(({ nodePort }) => (nodePort ?? 0) !== 0).length
  }
  return spec?.type === 'NodePort' || spec?.type === 'LoadBalancer' ? ports.length : 0
}

const countedType = ({ spec }: V1Service): string => (spec?.type === 'NodePort' || spec?.type === 'LoadBalancer' ? spec.type : '')
