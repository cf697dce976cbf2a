/** What every cluster holds from its first second on. */
import { serviceNameLabel } from '#api/discovery/v1/service-name.ts'
import { formatTime } from '#api/meta/time.ts'
import type { KubernetesObject } from '#api/resource.ts'

export type BootstrapFacts = {
  serviceCidrs: readonly string[]
  /** The first address of the service range. */
  kubernetesServiceIp: string
  advertiseAddress: string
  securePort: number
}

/** `status` is written once the object is there: a creator may not set it. */
type Entry = { group: string; resource: string; object: KubernetesObject; status?: object }

const systemNamespaces = ['kube-system', 'kube-public', 'kube-node-lease', 'default'] as const

export function namespaceEntries(): Entry[] {
  return systemNamespaces.map((name) => ({
    group: '',
    resource: 'namespaces',
    object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { 'kubernetes.io/metadata.name': name } } },
  }))
}

export function bootstrapEntries(facts: BootstrapFacts): Entry[] {
  return [...priorityClasses(), serviceCidr(facts)]
}

function priorityClasses(): Entry[] {
  const entry = (name: string, value: number, description: string): Entry => ({
    group: 'scheduling.k8s.io',
    resource: 'priorityclasses',
    object: { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name }, value, description } as KubernetesObject,
  })
  return [
    entry('system-node-critical', 2000001000, 'Used for system critical pods that must not be moved from their current node.'),
    entry(
      'system-cluster-critical',
      2000000000,
      'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
    ),
  ]
}

function serviceCidr({ serviceCidrs }: BootstrapFacts): Entry {
  return {
    group: 'networking.k8s.io',
    resource: 'servicecidrs',
    object: {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'ServiceCIDR',
      metadata: { name: 'kubernetes' },
      spec: { cidrs: serviceCidrs },
    } as KubernetesObject,
  }
}

/** Since when uses of tokens in secrets are written down: those that are older are not known to be unused. */
export function tokenTracking(nowMs: number): Entry {
  return {
    group: '',
    resource: 'configmaps',
    object: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'kube-apiserver-legacy-service-account-token-tracking', namespace: 'kube-system' },
      data: { since: formatTime(nowMs).slice(0, 10) },
    } as KubernetesObject,
  }
}

export function kubernetesService({ kubernetesServiceIp, securePort }: BootstrapFacts): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'kubernetes', namespace: 'default', labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: {
      clusterIP: kubernetesServiceIp,
      ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: securePort }],
      sessionAffinity: 'None',
      type: 'ClusterIP',
    },
  } as KubernetesObject
}

export function kubernetesEndpoints(addresses: readonly { address: string; port: number }[]): Entry[] {
  const [first] = addresses
  if (first === undefined) return []
  const portsOf = (port: number) => [{ name: 'https', port, protocol: 'TCP' }]
  const at = (port: number) => addresses.filter((each) => each.port === port).map(({ address }) => address)
  return [
    {
      group: '',
      resource: 'endpoints',
      object: {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: { name: 'kubernetes', namespace: 'default', labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
        subsets: [...new Set(addresses.map(({ port }) => port))].map((port) => ({
          addresses: at(port).map((ip) => ({ ip })),
          ports: portsOf(port),
        })),
      } as KubernetesObject,
    },
    {
      group: 'discovery.k8s.io',
      resource: 'endpointslices',
      object: {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name: 'kubernetes', namespace: 'default', labels: { [serviceNameLabel]: 'kubernetes' } },
        addressType: first.address.includes(':') ? 'IPv6' : 'IPv4',
        // A slice has one set of ports: servers elsewhere are expected on the same.
        endpoints: at(first.port).map((address) => ({ addresses: [address], conditions: { ready: true } })),
        ports: portsOf(first.port),
      } as KubernetesObject,
    },
  ]
}

export type { Entry as BootstrapEntry }
