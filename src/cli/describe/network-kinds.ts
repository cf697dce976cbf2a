import type { V1Endpoints, V1Service } from '#api/core/v1/types.gen.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { labelSelectorText } from '#api/meta/selector.ts'
import type {
  V1Ingress,
  V1IngressBackend,
  V1NetworkPolicy,
  V1NetworkPolicyPeer,
  V1NetworkPolicyPort,
} from '#api/networking/v1/types.gen.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { type Description, orNone } from './description.ts'

async function slicesOf({ session }: Call, namespace: string, service: string): Promise<V1EndpointSlice[]> {
  const rest = await session.rest
  return (
    await rest.json<{ items: V1EndpointSlice[] }>({
      path: `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
      query: { labelSelector: `kubernetes.io/service-name=${service}` },
    })
  ).items
}

/** Three addresses, and how many more. */
function endpointsText(slices: readonly V1EndpointSlice[], port: string): string {
  const list: string[] = []
  for (const { endpoints, ports } of slices) {
    if ((ports ?? []).length === 0)
      list.push(...(endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false).flatMap(({ addresses }) => addresses))
    for (const each of ports ?? []) {
      if ((each.name ?? '') !== port) continue
      for (const { addresses, conditions } of endpoints ?? [])
        if (conditions?.ready !== false)
          list.push(...addresses.map((address) => `${address.includes(':') ? `[${address}]` : address}:${each.port}`))
    }
  }
  if (list.length === 0) return ''
  return list.length > 3 ? `${list.slice(0, 3).join(',')} + ${list.length - 3} more...` : list.join(',')
}

export async function describeService(out: Description, object: ApiObject, call: Call): Promise<void> {
  const { metadata, spec, status } = object as unknown as V1Service
  const slices = await slicesOf(call, metadata?.namespace ?? '', metadata?.name ?? '')
  const pairs = Object.keys(spec?.selector ?? {})
    .sort()
    .map((key) => `${key}=${spec?.selector?.[key]}`)
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Namespace', metadata?.namespace)
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  out.field(0, 'Selector', orNone(pairs.join(',')))
  out.field(0, 'Type', spec?.type ?? '')
  out.optional(0, 'IP Family Policy', spec?.ipFamilyPolicy)
  out.field(0, 'IP Families', orNone((spec?.ipFamilies ?? []).join(',')))
  out.field(0, 'IP', spec?.clusterIP ?? '')
  out.field(0, 'IPs', orNone((spec?.clusterIPs ?? []).join(',')))
  out.optional(0, 'External IPs', (spec?.externalIPs ?? []).join(','))
  out.optional(0, 'Desired LoadBalancer IP', spec?.loadBalancerIP)
  out.optional(0, 'External Name', spec?.externalName)
  const ingress = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname, ipMode }) =>
    ip ? `${ip}${ipMode ? ` (${ipMode})` : ''}` : (hostname ?? ''),
  )
  out.optional(0, 'LoadBalancer Ingress', ingress.join(', '))
  for (const { name = '', port, protocol = 'TCP', targetPort = port, appProtocol, nodePort } of spec?.ports ?? []) {
    const shown = name || '<unset>'
    out.write(0, `Port:\t${shown}\t${port}/${protocol}\n`)
    out.field(0, 'TargetPort', `${targetPort}/${protocol}`)
    out.optional(0, 'AppProtocol', appProtocol)
    if (nodePort) out.write(0, `NodePort:\t${shown}\t${nodePort}/${protocol}\n`)
    out.field(0, 'Endpoints', slices.length === 0 ? '<none>' : endpointsText(slices, name))
  }
  out.field(0, 'Session Affinity', spec?.sessionAffinity ?? '')
  out.optional(0, 'External Traffic Policy', spec?.externalTrafficPolicy)
  out.optional(0, 'Internal Traffic Policy', spec?.internalTrafficPolicy)
  if (spec?.healthCheckNodePort) out.field(0, 'HealthCheck NodePort', spec.healthCheckNodePort)
  out.optional(0, 'LoadBalancer Source Ranges', (spec?.loadBalancerSourceRanges ?? []).join(','))
  out.optional(0, 'Traffic Distribution', spec?.trafficDistribution)
}

export function describeEndpoints(out: Description, object: ApiObject): void {
  const { metadata, subsets = [] } = object as unknown as V1Endpoints
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Namespace', metadata?.namespace)
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  out.write(0, 'Subsets:\n')
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets) {
    out.field(1, 'Addresses', orNone(addresses.map(({ ip }) => ip).join(',')))
    out.field(1, 'NotReadyAddresses', orNone(notReadyAddresses.map(({ ip }) => ip).join(',')))
    if (ports.length > 0) {
      out.write(1, 'Ports:\n')
      out.write(2, 'Name\tPort\tProtocol\n')
      out.write(2, '----\t----\t--------\n')
      for (const { name, port, protocol } of ports) out.write(2, `${name || '<unset>'}\t${port}\t${protocol}\n`)
    }
    out.write(0, '\n')
  }
}

export function describeEndpointSlice(out: Description, object: ApiObject): void {
  const { metadata, addressType, ports, endpoints } = object as unknown as V1EndpointSlice
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Namespace', metadata?.namespace)
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  out.field(0, 'AddressType', addressType)
  if ((ports ?? []).length === 0) out.write(0, 'Ports: <unset>\n')
  else {
    out.write(0, 'Ports:\n')
    out.write(1, 'Name\tPort\tProtocol\n')
    out.write(1, '----\t----\t--------\n')
    for (const { name, port, protocol } of ports ?? []) out.write(1, `${name || '<unset>'}\t${port ?? '<unset>'}\t${protocol}\n`)
  }
  if ((endpoints ?? []).length === 0) out.write(0, 'Endpoints: <none>\n')
  else out.write(0, 'Endpoints:\n')
  for (const { addresses, conditions, hostname, targetRef, nodeName, zone } of endpoints ?? []) {
    out.write(1, `- Addresses:\t${orNone(addresses.join(', '))}\n`)
    out.write(2, 'Conditions:\n')
    out.field(3, 'Ready', conditions?.ready ?? '<unset>')
    out.field(2, 'Hostname', hostname ?? '<unset>')
    if (targetRef !== undefined) out.field(2, 'TargetRef', `${targetRef.kind}/${targetRef.name}`)
    out.field(2, 'NodeName', nodeName ?? '<unset>')
    out.field(2, 'Zone', zone ?? '<unset>')
  }
}

export async function describeIngress(out: Description, object: ApiObject, call: Call): Promise<void> {
  const { metadata, spec, status } = object as unknown as V1Ingress
  out.field(0, 'Name', metadata?.name)
  out.labels('Labels', metadata?.labels)
  out.field(0, 'Namespace', metadata?.namespace)
  out.field(0, 'Address', (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip ?? hostname ?? '').join(','))
  out.field(0, 'Ingress Class', spec?.ingressClassName ?? '<none>')
  const initial = spec?.defaultBackend === undefined ? '<default>' : await backendText(call, metadata?.namespace ?? '', spec.defaultBackend)
  out.field(0, 'Default backend', initial)
  if ((spec?.tls ?? []).length > 0) out.write(0, 'TLS:\n')
  for (const { secretName, hosts = [] } of spec?.tls ?? [])
    out.write(1, secretName ? `${secretName} terminates ${hosts.join(',')}\n` : `SNI routes ${hosts.join(',')}\n`)
  out.write(0, 'Rules:\n  Host\tPath\tBackends\n')
  out.write(1, '----\t----\t--------\n')
  const rules = (spec?.rules ?? []).filter(({ http }) => http !== undefined)
  for (const { host, http } of rules) {
    out.write(1, `${host || '*'}\t\n`)
    for (const { path = '', backend } of http?.paths ?? [])
      out.write(2, `\t${path} \t${await backendText(call, metadata?.namespace ?? '', backend)}\n`)
  }
  if (rules.length === 0) out.write(1, `*\t*\t${initial}\n`)
  out.annotations('Annotations', metadata?.annotations)
}

async function backendText(call: Call, namespace: string, { service, resource }: V1IngressBackend): Promise<string> {
  if (resource !== undefined) return `APIGroup: ${resource.apiGroup ?? '<none>'}, Kind: ${resource.kind}, Name: ${resource.name}`
  if (service === undefined) return ''
  const text = `${service.name}:${service.port?.number || service.port?.name || ''}`
  try {
    const slices = await slicesOf(call, namespace, service.name)
    const rest = await call.session.rest
    const { spec } = await rest.json<V1Service>({ path: `/api/v1/namespaces/${namespace}/services/${service.name}` })
    const port = (spec?.ports ?? []).find((each) =>
      service.port?.number ? each.port === service.port.number : each.name === service.port?.name,
    )
    return `${text} (${endpointsText(slices, port?.name ?? '')})`
  } catch (error) {
    return `${text} (<error: ${(error as Error).message}>)`
  }
}

export function describeNetworkPolicy(out: Description, object: ApiObject): void {
  const { metadata, spec } = object as unknown as V1NetworkPolicy
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Namespace', metadata?.namespace)
  out.field(0, 'Created on', (metadata?.creationTimestamp ?? '').replace('T', ' ').replace('Z', ' +0000 UTC'))
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  out.write(0, 'Spec:\n')
  const selector = labelSelectorText(spec?.podSelector)
  out.write(
    1,
    `PodSelector:     ${selector === '<none>' ? '<none> (Allowing the specific traffic to all pods in this namespace)' : selector}\n`,
  )
  const types = spec?.policyTypes ?? []
  describeDirection(
    out,
    'ingress',
    types.includes('Ingress'),
    (spec?.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports })),
  )
  describeDirection(
    out,
    'egress',
    types.includes('Egress'),
    (spec?.egress ?? []).map(({ to, ports }) => ({ peers: to, ports })),
  )
  out.write(1, `Policy Types: ${orNone(types.join(', '))}\n`)
}

type PolicyRule = { peers: V1NetworkPolicyPeer[] | undefined; ports: V1NetworkPolicyPort[] | undefined }

function describeDirection(out: Description, direction: 'ingress' | 'egress', isOn: boolean, rules: readonly PolicyRule[]): void {
  if (!isOn) {
    out.write(1, `Not affecting ${direction} traffic\n`)
    return
  }
  out.write(1, `Allowing ${direction} traffic:\n`)
  if (rules.length === 0) out.write(2, `<none> (Selected pods are isolated for ${direction} connectivity)\n`)
  const side = direction === 'ingress' ? 'From' : 'To'
  for (const [index, { peers = [], ports = [] }] of rules.entries()) {
    if (ports.length === 0) out.write(2, 'To Port: <any> (traffic allowed to all ports)\n')
    for (const { port, endPort, protocol = 'TCP' } of ports)
      out.write(2, endPort === undefined ? `To Port: ${port ?? '<nil>'}/${protocol}\n` : `To Port Range: ${port}-${endPort}/${protocol}\n`)
    if (peers.length === 0)
      out.write(2, `${side}: <any> (traffic not restricted by ${direction === 'ingress' ? 'source' : 'destination'})\n`)
    for (const { podSelector, namespaceSelector, ipBlock } of peers) {
      out.write(2, `${side}:\n`)
      if (namespaceSelector !== undefined) out.write(3, `NamespaceSelector: ${labelSelectorText(namespaceSelector)}\n`)
      if (podSelector !== undefined) out.write(3, `PodSelector: ${labelSelectorText(podSelector)}\n`)
      if (ipBlock === undefined) continue
      out.write(3, 'IPBlock:\n')
      out.write(4, `CIDR: ${ipBlock.cidr}\n`)
      out.write(4, `Except: ${(ipBlock.except ?? []).join(', ')}\n`)
    }
    if (index < rules.length - 1) out.write(2, '----------\n')
  }
}
