/** Would this connection work, and why not: the proxy's plans and the policies' verdicts, without a packet. */

import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1Namespace, V1Pod, V1Service, V1ServiceAccount } from '#api/core/v1/types.gen.ts'
import { serviceNameOf } from '#api/discovery/v1/service-name.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { labelSelectorFromMap } from '#api/meta/selector.ts'
import type { V1NetworkPolicy } from '#api/networking/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { AskedConnection, ConnectionTarget } from '#cmd/explain/parse-connection.ts'
import { resolveName } from '#cmd/explain/resolve-name.ts'
import { type CompiledPolicy, compilePolicy } from '#network/policy/compiled-policy.ts'
import { evaluateConnection, type Party } from '#network/policy/evaluate.ts'
import { isNameServerSlice, nameServerPod } from '#network/policy/name-server-pod.ts'
import { type PolicyPod, policyPodOf } from '#network/policy/policy-pod.ts'
import { endpointsIn, serviceOfSlice } from '#network/policy/service-endpoints.ts'
import type { Endpoint } from '#proxy/service-table/endpoint.ts'
import type { PortPlan } from '#proxy/service-table/port-plan.ts'
import { ServiceTable } from '#proxy/service-table/service-table.ts'

export type ClusterObjects = {
  services: readonly V1Service[]
  slices: readonly V1EndpointSlice[]
  pods: readonly V1Pod[]
  namespaces: readonly V1Namespace[]
  policies: readonly V1NetworkPolicy[]
  /** Of Calico, made ready. */
  calicoPolicies?: readonly CompiledPolicy[]
  /** Whose labels Calico's policies go by. */
  accounts?: readonly V1ServiceAccount[]
  /** Labels of nodes, by name. */
  nodeLabels: ReadonlyMap<string, Readonly<Record<string, string>>>
}

export type ConnectionExplanation = {
  /** `sometimes`: it depends on the endpoint that is chosen. */
  works: 'yes' | 'no' | 'sometimes'
  /** One sentence. */
  because: string
  /** What was looked at, in order. */
  steps: string[]
}

export function explainConnection({ from, target, protocol }: AskedConnection, objects: ClusterObjects): ConnectionExplanation {
  const steps: string[] = []
  const no = (because: string): ConnectionExplanation => ({ works: 'no', because, steps })
  const pod = objects.pods.find(({ metadata }) => metadata.namespace === from.namespace && metadata.name === from.name)
  if (pod === undefined) return no(`there is no pod ${from.namespace}/${from.name}`)
  if (isPodFinished(pod)) return no(`pod ${nameOf(pod)} has ended (${pod.status?.phase})`)
  const nodeName = pod.spec.nodeName ?? ''
  if (nodeName === '') return no(`pod ${nameOf(pod)} is on no node yet`)
  if (!pod.status?.podIP) return no(`pod ${nameOf(pod)} has no address yet`)
  steps.push(
    `pod ${nameOf(pod)} is on node ${nodeName} and has the address ${pod.status.podIP}${pod.spec.hostNetwork ? " (the node's own)" : ''}`,
  )
  const zone = objects.nodeLabels.get(nodeName)?.['topology.kubernetes.io/zone'] ?? ''
  const table = new ServiceTable({ name: nodeName, zone })
  for (const service of objects.services) table.setService(service)
  for (const slice of objects.slices) table.setSlice(slice)

  const search = { protocol, table, objects, steps, isSix: pod.status.podIP.includes(':') }
  if (target.kind === 'name') {
    const asked = mayAskForNames(pod, search)
    if (asked !== undefined) return no(asked)
  }
  const reached = target.kind === 'name' ? toName(target, pod, search) : destinations(target, search)
  if ('because' in reached) return no(reached.because)
  return validated(pod, reached.ends, protocol, objects, steps)
}

const nameOf = ({ metadata }: { metadata: { namespace?: string; name?: string } }): string => `${metadata.namespace}/${metadata.name}`

type End = { ip: string; port: number; name: string; nodeName?: string }
type Search = { protocol: string; table: ServiceTable; objects: ClusterObjects; steps: string[]; isSix: boolean }

type NamedTarget = Extract<ConnectionTarget, { kind: 'name' }>

function toName({ host, port }: NamedTarget, pod: V1Pod, search: Search): { ends: End[] } | { because: string } {
  const resolved = resolveName(host, pod, search.objects)
  if (resolved.kind === 'nothing') return { because: resolved.because }
  search.steps.push(...resolved.steps)
  if (resolved.kind === 'service') return toService({ kind: 'service', namespace: resolved.namespace, name: resolved.name, port }, search)
  const ip = resolved.ips.find((one) => one.includes(':') === search.isSix) ?? resolved.ips[0] ?? ''
  return destinations({ kind: 'address', ip, port }, search)
}

/** Why the pod cannot ask the name server at all; undefined where it can, or where none is known. */
function mayAskForNames(pod: V1Pod, { table, objects, isSix }: Search): string | undefined {
  const place = { kind: 'service' as const, namespace: 'kube-system', name: 'kube-dns', port: 53 }
  if (!objects.services.some(({ metadata }) => metadata.namespace === place.namespace && metadata.name === place.name)) return undefined
  const reached = toService(place, { protocol: 'UDP', table, objects, steps: [], isSix })
  if ('because' in reached) return `no name is resolved: ${reached.because}`
  const verdict = validated(pod, reached.ends, 'UDP', objects, [])
  return verdict.works === 'no' ? `no name is resolved, the name server may not be asked: ${verdict.because}` : undefined
}

/** Where packets to the target end up, or why nowhere. */
function destinations(target: Exclude<ConnectionTarget, { kind: 'name' }>, search: Search): { ends: End[] } | { because: string } {
  const { objects, table, steps, protocol } = search
  if (target.kind === 'service') return toService(target, search)
  if (target.kind === 'pod') {
    const pod = objects.pods.find(({ metadata }) => metadata.namespace === target.namespace && metadata.name === target.name)
    if (pod === undefined) return { because: `there is no pod ${target.namespace}/${target.name}` }
    const ip = pod.status?.podIP
    if (!ip) return { because: `pod ${nameOf(pod)} has no address yet` }
    const port = typeof target.port === 'number' ? target.port : policyPodOf(pod)?.namedPorts.find(({ name }) => name === target.port)?.port
    if (port === undefined) return { because: `pod ${nameOf(pod)} has no port named ${target.port}` }
    return { ends: [{ ip, port, name: `pod ${nameOf(pod)}` }] }
  }
  if (typeof target.port !== 'number') return { because: `an address has no port named ${target.port}` }
  for (const plan of table.allPlans()) {
    const { port } = plan
    if (port.protocol !== protocol || port.port !== target.port) continue
    if (port.clusterIp === target.ip) return ofPlan(plan, false, search)
    if ([...port.externalIps, ...port.loadBalancerIps].includes(target.ip)) return ofPlan(plan, true, search)
  }
  const owner = objects.pods.find(({ status }) => status?.podIPs?.some(({ ip }) => ip === target.ip) || status?.podIP === target.ip)
  steps.push(
    owner === undefined ? `${target.ip} is no address of a service or a pod` : `${target.ip} is the address of pod ${nameOf(owner)}`,
  )
  return { ends: [{ ip: target.ip, port: target.port, name: owner === undefined ? target.ip : `pod ${nameOf(owner)}` }] }
}

function toService(
  { namespace, name, port: asked }: Extract<ConnectionTarget, { kind: 'service' }>,
  search: Search,
): { ends: End[] } | { because: string } {
  const { objects, table, steps, protocol, isSix } = search
  const service = objects.services.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name)
  if (service === undefined) return { because: `there is no service ${namespace}/${name}` }
  const { spec = {} } = service
  if (spec.type === 'ExternalName')
    return { because: `service ${nameOf(service)} is a name for ${spec.externalName}: what it leads to is not known here` }
  const ports = spec.ports ?? []
  const wanted = ports.find((port) => (port.protocol ?? 'TCP') === protocol && (port.port === asked || port.name === asked))
  if (wanted === undefined) {
    const list = ports
      .map(({ name: portName, port, protocol: each = 'TCP' }) => `${portName ? `${portName} ` : ''}${port}/${each}`)
      .join(', ')
    return { because: `service ${nameOf(service)} has no port ${asked}/${protocol}; it has ${list || 'none'}` }
  }
  if (spec.clusterIP === 'None') return toHeadless(service, wanted.name ?? '', search)
  const plans = table
    .plansOf(nameOf(service))
    .plans.filter(({ port }) => port.portName === (wanted.name ?? '') && port.protocol === protocol)
  const plan = plans.find(({ port }) => (port.family === 'IPv6') === isSix) ?? plans[0]
  if (plan === undefined) return { because: `service ${nameOf(service)} is served by another proxy, or has no address` }
  steps.push(`service ${plan.port.name} has the address ${plan.port.clusterIp}, port ${plan.port.port}/${protocol}`)
  return ofPlan(plan, false, search)
}

/** Names lead straight to pods: no proxy is in between. */
function toHeadless(service: V1Service, portName: string, { objects, steps, protocol }: Search): { ends: End[] } | { because: string } {
  steps.push(`service ${nameOf(service)} is headless: its name leads straight to its endpoints`)
  const ends: End[] = []
  for (const slice of objects.slices) {
    const { metadata, ports, endpoints } = slice
    if (metadata.namespace !== service.metadata.namespace || serviceNameOf(slice) !== service.metadata.name) continue
    const port = (ports ?? []).find((each) => (each.name ?? '') === portName && (each.protocol ?? 'TCP') === protocol)?.port
    for (const { addresses, conditions, targetRef } of endpoints ?? []) {
      const isMeant = conditions?.ready ?? true
      if (isMeant && port && addresses[0])
        ends.push({ ip: addresses[0], port, name: targetRef?.name ? `pod ${metadata.namespace}/${targetRef.name}` : addresses[0] })
    }
  }
  return ends.length > 0 ? { ends } : { because: noEndpoints(service, objects) }
}

function ofPlan(plan: PortPlan, isOutside: boolean, { objects, table, steps }: Search): { ends: End[] } | { because: string } {
  const { port } = plan
  // A pod that asks by an outside address is treated as if it were inside.
  const outcome = isOutside ? plan.shortCircuit : plan.internal
  const service = objects.services.find(({ metadata }) => metadata.namespace === port.namespace && metadata.name === port.service)
  if (outcome.kind === 'reject')
    return { because: service === undefined ? `service ${port.name} has no endpoints` : noEndpoints(service, objects) }
  if (outcome.kind === 'drop') {
    const elsewhere = table.endpointsOf(plan).length
    return {
      because: `service ${port.name} has internalTrafficPolicy Local, and none of its ${elsewhere} endpoints is on node ${table.node.name}: packets are dropped`,
    }
  }
  if (plan.topology !== 'none') steps.push(`of its endpoints, those near node ${table.node.name} are used (${plan.topology})`)
  if (outcome.endpoints.every(({ isTerminating }) => isTerminating)) steps.push('all of its endpoints are terminating, and still used')
  if (port.affinitySeconds !== undefined) steps.push(`a client stays with its endpoint for ${port.affinitySeconds} s (sessionAffinity)`)
  return { ends: outcome.endpoints.map(endOf) }
}

const endOf = ({ ip, port, pod, nodeName }: Endpoint): End => ({
  ...{ ip, port, name: pod === undefined ? ip : `pod ${pod}` },
  ...defined({ nodeName }),
})

function noEndpoints(service: V1Service, { pods }: ClusterObjects): string {
  const what = `service ${nameOf(service)} has no endpoints`
  const { selector } = service.spec ?? {}
  if (selector === undefined) return `${what}: it has no selector, and nobody has made an EndpointSlice for it`
  const matches = labelSelectorFromMap(selector)
  const selected = pods.filter(({ metadata }) => metadata.namespace === service.metadata.namespace && matches.matches(metadata.labels))
  if (selected.length === 0) return `${what}: its selector ${matches} selects no pod`
  const unready = selected.map((pod) => `${pod.metadata.name} (${whyUnready(pod)})`)
  return `${what}: its selector ${matches} selects ${selected.length === 1 ? 'one pod' : `${selected.length} pods`}, none of them ready: ${unready.join(', ')}`
}

function whyUnready({ metadata, status }: V1Pod): string {
  if (metadata.deletionTimestamp) return 'terminating'
  if (status?.phase !== 'Running') return status?.phase ?? 'Pending'
  return findCondition(status.conditions, 'Ready')?.message || 'not ready'
}

function validated(pod: V1Pod, ends: readonly End[], protocol: string, objects: ClusterObjects, steps: string[]): ConnectionExplanation {
  const labels = new Map(objects.namespaces.map(({ metadata }) => [metadata.name ?? '', metadata.labels ?? {}]))
  const policies = [...objects.policies.map(compilePolicy), ...(objects.calicoPolicies ?? [])]
  const endpointsOf = (service: string) => objects.slices.filter((slice) => serviceOfSlice(slice) === service).flatMap(endpointsIn)
  const world = { policies, labelsOf: (namespace: string) => labels.get(namespace) ?? {}, endpointsOf }
  const accountOf = ({ metadata, spec }: V1Pod) =>
    objects.accounts?.find((one) => one.metadata.namespace === metadata.namespace && one.metadata.name === spec.serviceAccountName)
  const partyOf = (ip: string, of: V1Pod | undefined): Party => {
    const known = of === undefined ? undefined : policyPodOf(of, accountOf(of)?.metadata.labels)
    return known === undefined ? { ip } : { ip, pod: known }
  }
  const ownerOf = (ip: string): V1Pod | undefined =>
    objects.pods.find((each) => !each.spec.hostNetwork && (each.status?.podIP === ip || each.status?.podIPs?.some((one) => one.ip === ip)))
  const nameServers = objects.slices.filter(isNameServerSlice).map(nameServerPod)
  const nameServerAt = (ip: string): PolicyPod | undefined => nameServers.find((one) => one?.ips.includes(ip))
  const refused: string[] = []
  for (const { ip, port, name, nodeName } of ends) {
    const owner = ownerOf(ip)
    const isOwnNode = pod.spec.hostNetwork === true && owner?.spec.nodeName === pod.spec.nodeName
    const from = { ...partyOf(pod.status?.podIP ?? '', pod), ...omitEmpty({ isNode: isOwnNode }) }
    const nameServer = owner === undefined ? nameServerAt(ip) : undefined
    const isOfNode = owner === undefined && nodeName !== undefined && nodeName === pod.spec.nodeName
    const to = { ...(nameServer === undefined ? partyOf(ip, owner) : { ip, pod: nameServer }), ...omitEmpty({ isNode: isOfNode }) }
    const verdict = evaluateConnection(world, { from, to, protocol, port })
    const why = verdict.egress.isAllowed ? verdict.ingress.why : verdict.egress.why
    steps.push(
      `to ${name} at ${ip}, port ${port}: ${verdict.isAllowed ? 'allowed' : 'denied'}; ${verdict.egress.why}; ${verdict.ingress.why}`,
    )
    if (!verdict.isAllowed) refused.push(why)
  }
  if (refused.length === 0) {
    const count = ends.length === 1 ? (ends[0]?.name ?? '') : `one of ${ends.length} endpoints`
    return { works: 'yes', because: `it leads to ${count}, and no policy stands in the way`, steps }
  }
  if (refused.length === ends.length) return { works: 'no', because: refused[0] ?? '', steps }
  return { works: 'sometimes', because: `${refused.length} of ${ends.length} endpoints are closed to it: ${refused[0]}`, steps }
}
