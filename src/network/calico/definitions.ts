/**
 * Calico's objects that are acted on: pools of addresses, whom nodes speak BGP to, and policies. Each is served as projectcalico.org/v3,
 * and as crd.projectcalico.org/v1, which is what those apply who have no calicoctl: both are kept the same, and the first is acted on.
 */
import { type CustomObjectOf, type CustomResourceDeclaration, defineCustomResource } from '#api/declaration/define-custom-resource.ts'
import type { Schema } from '#api/declaration/schema.ts'
import { anyObject, boolean, choice, integer, intOrString, list, number, object, optional, string } from '#api/declaration/schema.ts'

// biome-ignore lint/suspicious/noExplicitAny: whatever its type
type Declared<Spec extends Schema<any, any>> = Omit<
  CustomResourceDeclaration<Spec, Schema<Record<string, never>>, Record<never, never>>,
  'group' | 'version'
>

/** The kind in both groups: as people write it, and as Calico keeps it. */
// biome-ignore lint/suspicious/noExplicitAny: whatever its type
function inBothGroups<Spec extends Schema<any, any>>(declared: Declared<Spec>) {
  const { shortNames: _, ...kept } = declared
  return [
    defineCustomResource({ ...declared, group: 'projectcalico.org', version: 'v3' }),
    defineCustomResource({ ...kept, group: 'crd.projectcalico.org', version: 'v1' }),
  ] as const
}

const age = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }

export const [IPPool, StoredIPPool] = inBothGroups({
  ...{ kind: 'IPPool', plural: 'ippools', scope: 'Cluster' as const },
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

export const [BGPPeer, StoredBGPPeer] = inBothGroups({
  ...{ kind: 'BGPPeer', plural: 'bgppeers', scope: 'Cluster' as const },
  spec: object({
    node: optional(string()),
    nodeSelector: optional(string()),
    peerIP: optional(string()),
    asNumber: optional(intOrString()),
    peerSelector: optional(string()),
    keepOriginalNextHop: boolean({ default: false }),
    password: optional(object({ secretKeyRef: object({ name: string(), key: string() }) })),
    sourceAddress: optional(choice(['UseNodeIP', 'None'])),
    maxRestartTime: optional(string()),
    numAllowedLocalASNumbers: optional(integer({ minimum: 0 })),
    ttlSecurity: optional(integer({ minimum: 1, maximum: 255 })),
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

export const [BGPConfiguration, StoredBGPConfiguration] = inBothGroups({
  ...{ kind: 'BGPConfiguration', plural: 'bgpconfigurations', scope: 'Cluster' as const },
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
      serviceAccounts: optional(object({ names: optional(list(string())), selector: optional(string()) })),
      services: optional(object({ name: string(), namespace: optional(string()) })),
    }),
  )
const icmp = () =>
  optional(object({ type: optional(integer({ minimum: 0, maximum: 254 })), code: optional(integer({ minimum: 0, maximum: 255 })) }))
const rules = () =>
  optional(
    list(
      object({
        action: choice(['Allow', 'Deny', 'Log', 'Pass']),
        protocol: optional(intOrString()),
        notProtocol: optional(intOrString()),
        ipVersion: optional(integer()),
        icmp: icmp(),
        notICMP: icmp(),
        // Not acted on: a rule with it lets nothing through.
        http: optional(anyObject()),
        source: side(),
        destination: side(),
      }),
    ),
  )
const policy = {
  order: optional(number()),
  selector: optional(string()),
  serviceAccountSelector: optional(string()),
  types: optional(list(choice(['Ingress', 'Egress']))),
  ingress: rules(),
  egress: rules(),
}
const order = { name: 'Order', type: 'number', jsonPath: '.spec.order' }
const selects = { name: 'Selector', type: 'string', jsonPath: '.spec.selector' }

export const [CalicoNetworkPolicy, StoredNetworkPolicy] = inBothGroups({
  ...{ kind: 'NetworkPolicy', plural: 'networkpolicies', shortNames: ['caliconetworkpolicy', 'cnp'] },
  spec: object(policy),
  columns: [order, selects, age],
})
export type CalicoNetworkPolicy = CustomObjectOf<typeof CalicoNetworkPolicy>

export const [GlobalNetworkPolicy, StoredGlobalNetworkPolicy] = inBothGroups({
  ...{ kind: 'GlobalNetworkPolicy', plural: 'globalnetworkpolicies', shortNames: ['gnp'], scope: 'Cluster' as const },
  // Those before addresses are translated, and those without tracking, are for the links of hosts: they say nothing of pods.
  spec: object({
    ...policy,
    ...{ namespaceSelector: optional(string()), applyOnForward: optional(boolean()) },
    ...{ preDNAT: optional(boolean()), doNotTrack: optional(boolean()) },
  }),
  columns: [order, selects, age],
})
export type GlobalNetworkPolicy = CustomObjectOf<typeof GlobalNetworkPolicy>

/** Addresses of a pool that a node gives to its pods. Its name stands for its range: that it can be made once is what makes it a node's own. */
export const IPAMBlock = defineCustomResource({
  ...{ group: 'crd.projectcalico.org', version: 'v1', kind: 'IPAMBlock', plural: 'ipamblocks', scope: 'Cluster' },
  spec: object({
    cidr: string({ minLength: 1 }),
    /** `host:NODE`. */
    affinity: optional(string()),
    strictAffinity: boolean({ default: true }),
    deleted: boolean({ default: false }),
  }),
  columns: [
    { name: 'CIDR', type: 'string', jsonPath: '.spec.cidr' },
    { name: 'Affinity', type: 'string', jsonPath: '.spec.affinity' },
    age,
  ],
})
export type IPAMBlock = CustomObjectOf<typeof IPAMBlock>

export const mirroredKinds = [
  { written: IPPool, kept: StoredIPPool },
  { written: BGPPeer, kept: StoredBGPPeer },
  { written: BGPConfiguration, kept: StoredBGPConfiguration },
  { written: CalicoNetworkPolicy, kept: StoredNetworkPolicy },
  { written: GlobalNetworkPolicy, kept: StoredGlobalNetworkPolicy },
]

export const calicoResources = [...mirroredKinds.flatMap(({ written, kept }) => [written, kept]), IPAMBlock]
