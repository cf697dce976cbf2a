import type { V1Lease } from '#api/coordination/v1/types.gen.ts'
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { parseQuantity, type Quantity, zeroQuantity } from '#api/meta/quantity.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError } from '#cli/cli-error.ts'
import { type Description, orNone, rfc1123 } from './description.ts'

export async function describeNode(out: Description, object: ApiObject, { session }: Call): Promise<void> {
  const { metadata, spec, status } = object as unknown as V1Node
  const rest = await session.rest
  const roles = Object.entries(metadata?.labels ?? {}).flatMap(([key, value]) =>
    key.startsWith('node-role.kubernetes.io/')
      ? [key.slice('node-role.kubernetes.io/'.length)]
      : key === 'kubernetes.io/role' && value !== ''
        ? [value]
        : [],
  )
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Roles', orNone([...new Set(roles)].sort().join(',')))
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  out.field(0, 'CreationTimestamp', rfc1123(metadata?.creationTimestamp))
  const taints = (spec?.taints ?? []).map(({ key, value, effect }) => `${key}${value ? `=${value}` : ''}:${effect}`).sort()
  for (const [index, taint] of (taints.length === 0 ? ['<none>'] : taints).entries())
    out.write(0, `${index === 0 ? 'Taints:' : ''}\t${taint}\n`)
  out.field(0, 'Unschedulable', spec?.unschedulable ?? false)
  await describeLease(out, rest, metadata?.name ?? '')
  if ((status?.conditions ?? []).length > 0) {
    out.write(0, 'Conditions:\n  Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage\n')
    out.write(1, '----\t------\t-----------------\t------------------\t------\t-------\n')
    for (const { type, status: value, lastHeartbeatTime, lastTransitionTime, reason = '', message = '' } of status?.conditions ?? [])
      out.write(1, `${type} \t${value} \t${rfc1123(lastHeartbeatTime)} \t${rfc1123(lastTransitionTime)} \t${reason} \t${message}\n`)
  }
  out.write(0, 'Addresses:\n')
  for (const { type, address } of status?.addresses ?? []) out.field(1, type, address)
  for (const [title, amounts] of [
    ['Capacity', status?.capacity],
    ['Allocatable', status?.allocatable],
  ] as const) {
    const names = Object.keys(amounts ?? {}).sort()
    if (names.length > 0) out.write(0, `${title}:\n`)
    for (const name of names) out.field(1, name, amounts?.[name])
  }
  const info = status?.nodeInfo
  out.write(0, 'System Info:\n')
  for (const [name, value] of Object.entries({
    'Machine ID': info?.machineID,
    'System UUID': info?.systemUUID,
    'Boot ID': info?.bootID,
    'Kernel Version': info?.kernelVersion,
    'OS Image': info?.osImage,
    'Operating System': info?.operatingSystem,
    Architecture: info?.architecture,
    'Container Runtime Version': info?.containerRuntimeVersion,
    'Kubelet Version': info?.kubeletVersion,
  }))
    out.field(1, name, value ?? '')
  out.optional(0, 'PodCIDR', spec?.podCIDR)
  out.optional(0, 'PodCIDRs', (spec?.podCIDRs ?? []).join(','))
  out.optional(0, 'ProviderID', spec?.providerID)
  try {
    const fieldSelector = `spec.nodeName=${metadata?.name},status.phase!=Succeeded,status.phase!=Failed`
    const { items } = await rest.json<{ items: V1Pod[] }>({ path: '/api/v1/pods', query: { fieldSelector, limit: 500 } })
    describePods(out, items, status?.allocatable ?? status?.capacity ?? {})
  } catch (error) {
    if (!(error instanceof ApiError && error.status.reason === 'Forbidden')) throw error
    out.field(0, 'Pods', 'not authorized')
  }
}

async function describeLease(out: Description, rest: { json<T>(request: { path: string }): Promise<T> }, name: string): Promise<void> {
  try {
    const { spec } = await rest.json<V1Lease>({ path: `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}` })
    out.write(0, 'Lease:\n')
    out.field(1, 'HolderIdentity', spec?.holderIdentity ?? '<unset>')
    out.field(1, 'AcquireTime', spec?.acquireTime ? rfc1123(spec.acquireTime) : '<unset>')
    out.field(1, 'RenewTime', spec?.renewTime ? rfc1123(spec.renewTime) : '<unset>')
  } catch (error) {
    out.field(0, 'Lease', `Failed to get lease: ${(error as Error).message}`)
  }
}

type Amounts = Readonly<Record<string, string>>

function describePods(out: Description, pods: readonly V1Pod[], allocatable: Amounts): void {
  out.field(0, 'Non-terminated Pods', `(${pods.length} in total)`)
  out.write(1, 'Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge\n')
  out.write(1, '---------\t----\t\t------------\t----------\t---------------\t-------------\t---\n')
  const share = (amount: Quantity, name: string): string => {
    const whole = allocatable[name] === undefined ? 0 : parseQuantity(allocatable[name]).milliValue()
    return `${amount} (${whole === 0 ? 0 : Math.trunc((amount.milliValue() / whole) * 100)}%)`
  }
  for (const pod of pods) {
    const [requests, limits] = [total([pod], 'requests'), total([pod], 'limits')]
    const of = (amounts: ReadonlyMap<string, Quantity>, name: string) => share(amounts.get(name) ?? zeroQuantity, name)
    out.write(
      1,
      `${pod.metadata?.namespace}\t${pod.metadata?.name}\t\t${of(requests, 'cpu')}\t${of(limits, 'cpu')}\t${of(requests, 'memory')}\t${of(limits, 'memory')}\t${out.since(pod.metadata?.creationTimestamp)}\n`,
    )
  }
  out.write(0, 'Allocated resources:\n  (Total limits may be over 100 percent, i.e., overcommitted.)\n')
  out.write(1, 'Resource\tRequests\tLimits\n')
  out.write(1, '--------\t--------\t------\n')
  const [requests, limits] = [total(pods, 'requests'), total(pods, 'limits')]
  const standard = ['cpu', 'memory', 'ephemeral-storage']
  const others = Object.keys(allocatable)
    .filter((name) => !standard.includes(name) && name !== 'pods')
    .sort()
  const huge = others.filter((name) => name.startsWith('hugepages-'))
  for (const name of [...standard, ...huge])
    out.write(1, `${name}\t${share(requests.get(name) ?? zeroQuantity, name)}\t${share(limits.get(name) ?? zeroQuantity, name)}\n`)
  for (const name of others.filter((each) => !huge.includes(each)))
    out.write(1, `${name}\t${requests.get(name) ?? '0'}\t${limits.get(name) ?? '0'}\n`)
}

/** Containers add up; an init container counts where it asks for more than they do together. */
function total(pods: readonly V1Pod[], kind: 'requests' | 'limits'): Map<string, Quantity> {
  const sum = new Map<string, Quantity>()
  for (const { spec } of pods) {
    const own = new Map<string, Quantity>()
    const add = (target: Map<string, Quantity>, amounts: Amounts | undefined) => {
      for (const [name, text] of Object.entries(amounts ?? {}))
        target.set(name, (target.get(name) ?? zeroQuantity).add(parseQuantity(text)))
    }
    for (const { resources } of spec?.containers ?? []) add(own, resources?.[kind])
    for (const { resources, restartPolicy } of spec?.initContainers ?? []) {
      if (restartPolicy === 'Always') add(own, resources?.[kind])
      else
        for (const [name, text] of Object.entries(resources?.[kind] ?? {})) {
          const amount = parseQuantity(text)
          if (amount.compare(own.get(name) ?? zeroQuantity) > 0) own.set(name, amount)
        }
    }
    for (const [name, amount] of own) sum.set(name, (sum.get(name) ?? zeroQuantity).add(amount))
  }
  return sum
}
