/** Calico's objects that are acted on: pools of addresses, whom nodes speak BGP to, and policies (projectcalico.org/v3). */
import { type CustomObjectOf, defineCustomResource } from '#api/declaration/define-custom-resource.ts'
import { anyObject, boolean, choice, integer, intOrString, list, number, object, optional, string } from '#api/declaration/schema.ts'

const shared = { group: 'projectcalico.org', version: 'v3' }
const age = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }

export const IPPool = defineCustomResource({
  ...{ ...shared, kind: 'IPPool', plural: 'ippools', scope: 'Cluster' as const },
  spec: object({
    cidr: string({ minLength: 1 }),
    blockSize: optional(integer({ minimum: 20, maximum: 128 })),
    ipipMode: choice(['Never', 'Always', 'CrossSubnet'], { default: 'Never' }),
    vxlanMode: choice(['Never', 'Always', 'CrossSubnet'], { default: 'Never' }),
    natOutgoing: boolean({ default: false }),
    disabled: boolean({ default: false }),
    disableBGPExport: boolean({ default: false }),
    nodeSelector: string({ default: 'all()' }),
    allowedUses: optional(list(choice(['Workload', 'Tunnel', 'LoadBalancer']))),
  }),
  columns: [
    { name: 'CIDR', type: 'string', jsonPath: '.spec.cidr' },
    { name: 'IPIP', type: 'string', jsonPath: '.spec.ipipMode' },
    { name: 'NAT', type: 'boolean', jsonPath: '.spec.natOutgoing' },
    age,
  ],
})
export type IPPool = CustomObjectOf<typeof IPPool>

export const BGPPeer = defineCustomResource({
  ...{ ...shared, kind: 'BGPPeer', plural: 'bgppeers', scope: 'Cluster' as const },
  spec: object({
    node: optional(string()),
    nodeSelector: optional(string()),
    peerIP: optional(string()),
    asNumber: optional(intOrString()),
    peerSelector: optional(string()),
    keepOriginalNextHop: boolean({ default: false }),
  }),
  columns: [
    { name: 'PeerIP', type: 'string', jsonPath: '.spec.peerIP' },
    { name: 'ASN', type: 'string', jsonPath: '.spec.asNumber' },
    { name: 'Nodes', type: 'string', jsonPath: '.spec.nodeSelector' },
    age,
  ],
})
export type BGPPeer = CustomObjectOf<typeof BGPPeer>

const cidrs = () => optional(list(object({ cidr: string() })))

export const BGPConfiguration = defineCustomResource({
  ...{ ...shared, kind: 'BGPConfiguration', plural: 'bgpconfigurations', scope: 'Cluster' as const },
  spec: object({
    nodeToNodeMeshEnabled: optional(boolean()),
    asNumber: optional(intOrString()),
    serviceClusterIPs: cidrs(),
    serviceExternalIPs: cidrs(),
    serviceLoadBalancerIPs: cidrs(),
    logSeverityScreen: optional(string()),
  }),
  columns: [
    { name: 'Mesh', type: 'boolean', jsonPath: '.spec.nodeToNodeMeshEnabled' },
    { name: 'ASN', type: 'string', jsonPath: '.spec.asNumber' },
    age,
  ],
})
export type BGPConfiguration = CustomObjectOf<typeof BGPConfiguration>

const side = () =>
  optional(
    object({
      nets: optional(list(string())),
      notNets: optional(list(string())),
      selector: optional(string()),
      notSelector: optional(string()),
      namespaceSelector: optional(string()),
      ports: optional(list(intOrString())),
      notPorts: optional(list(intOrString())),
      // Not acted on: a rule with one of these lets nothing through.
      serviceAccounts: optional(anyObject()),
      services: optional(anyObject()),
    }),
  )
const rules = () =>
  optional(
    list(
      object({
        action: choice(['Allow', 'Deny', 'Log', 'Pass']),
        protocol: optional(intOrString()),
        notProtocol: optional(intOrString()),
        ipVersion: optional(integer()),
        icmp: optional(anyObject()),
        notICMP: optional(anyObject()),
        http: optional(anyObject()),
        source: side(),
        destination: side(),
      }),
    ),
  )
const policy = {
  order: optional(number()),
  selector: optional(string()),
  types: optional(list(choice(['Ingress', 'Egress']))),
  ingress: rules(),
  egress: rules(),
}
const order = { name: 'Order', type: 'number', jsonPath: '.spec.order' }
const selects = { name: 'Selector', type: 'string', jsonPath: '.spec.selector' }

export const CalicoNetworkPolicy = defineCustomResource({
  ...{ ...shared, kind: 'NetworkPolicy', plural: 'networkpolicies', shortNames: ['caliconetworkpolicy', 'cnp'] },
  spec: object(policy),
  columns: [order, selects, age],
})
export type CalicoNetworkPolicy = CustomObjectOf<typeof CalicoNetworkPolicy>

export const GlobalNetworkPolicy = defineCustomResource({
  ...{ ...shared, kind: 'GlobalNetworkPolicy', plural: 'globalnetworkpolicies', shortNames: ['gnp'], scope: 'Cluster' as const },
  spec: object({ ...policy, namespaceSelector: optional(string()) }),
  columns: [order, selects, age],
})
export type GlobalNetworkPolicy = CustomObjectOf<typeof GlobalNetworkPolicy>

export const calicoResources = [IPPool, BGPPeer, BGPConfiguration, CalicoNetworkPolicy, GlobalNetworkPolicy] as const
