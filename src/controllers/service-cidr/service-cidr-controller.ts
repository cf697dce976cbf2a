import { findCondition, isSameCondition } from '#api/meta/find-condition.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { formatTime, parseTime } from '#api/meta/time.ts'
import type { V1Condition } from '#api/meta/v1/types.gen.ts'
import { IPAddress, ServiceCIDR } from '#api/networking/v1/kinds.gen.ts'
import type { V1IPAddress, V1ServiceCIDR } from '#api/networking/v1/types.gen.ts'
import { addressNumber, familyOf, type IpRange, parseRange, usable } from '#base/ip-range.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

const finalizer = 'networking.k8s.io/service-cidr-finalizer'
/** Until then every API server knows that it must take no address from the range any more. */
const graceMs = 10_000

type ConditionFacts = Pick<V1Condition, 'status' | 'reason' | 'message'>
const ready: ConditionFacts = { status: 'True', reason: '', message: 'Kubernetes Service CIDR is ready' }
const blocked: ConditionFacts = {
  status: 'False',
  reason: 'Terminating',
  message: 'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR',
}

/** Keeps a range of service addresses from being deleted while services have addresses that are in no other. */
export const serviceCidrController = defineController({
  name: 'service-cidr-controller',
  queueName: 'ipaddresses',
  serviceAccount: 'service-cidrs-controller',
  eventComponent: 'service-cidr-controller',
  for: ServiceCIDR,
  watches: [
    // Another range may take over the addresses of one that shall go, and so may nobody's.
    on(ServiceCIDR, (_range, cache, { prev }) => (prev === undefined ? goingAway(cache) : [])),
    on(IPAddress, (address, cache, { prev }) => (prev === undefined && isAllocated(address) ? goingAway(cache) : [])),
  ],

  async reconcile(range, context) {
    const { client, cache, clock, requeueAfter, events } = context
    const name = range.metadata.name ?? ''
    const isProtected = range.metadata.finalizers?.includes(finalizer) ?? false
    if (isDeleting(range)) {
      if (!mayGo(range, cache)) return setCondition(range, blocked, context)
      const leftMs = graceMs - (clock.now() - parseTime(range.metadata.deletionTimestamp ?? ''))
      if (leftMs > 0) return requeueAfter(leftMs)
      if (isProtected) await patchFinalizers(name, { '$deleteFromPrimitiveList/finalizers': [finalizer] }, client)
      return
    }
    if (!isProtected) await patchFinalizers(name, { finalizers: [finalizer] }, client)
    await setCondition(range, ready, context).catch((error: unknown) => {
      events.warning(ServiceCIDR, range, 'KubernetesServiceCIDRError', 'The ServiceCIDR Status can not be set to Ready=True')
      throw error
    })
  },
})

const goingAway = (cache: Cache): string[] =>
  cache
    .list(ServiceCIDR)
    .filter(isDeleting)
    .map(({ metadata }) => metadata.name ?? '')

const isAllocated = ({ metadata }: V1IPAddress): boolean => metadata.labels?.['ipaddress.kubernetes.io/managed-by'] === 'ipallocator.k8s.io'

const rangesOf = ({ spec }: V1ServiceCIDR): IpRange[] => (spec?.cidrs ?? []).map(parseRange)

/** Whether nothing is left that is in this range alone. */
function mayGo(leaving: V1ServiceCIDR, cache: Cache): boolean {
  const others = cache.list(ServiceCIDR).filter(({ metadata }) => metadata.name !== leaving.metadata.name)
  const otherRanges = others.flatMap(rangesOf)
  const own = rangesOf(leaving)
  const hasParent = (range: IpRange) =>
    otherRanges.some(
      ({ family, first, size }) => family === range.family && first <= range.first && range.first + range.size <= first + size,
    )
  if (own.every(hasParent)) return true
  const isInOwn = memberOf(own)
  const isInOther = memberOf(otherRanges)
  return !cache
    .list(IPAddress)
    .some((address) => isAllocated(address) && isInOwn(address.metadata.name ?? '') && !isInOther(address.metadata.name ?? ''))
}

/** Whether an address could come from one of the ranges: there may be many of both. */
function memberOf(ranges: readonly IpRange[]): (address: string) => boolean {
  const spans: Record<string, { first: bigint; end: bigint }[]> = { IPv4: [], IPv6: [] }
  const byStart = ranges.map((range) => ({ family: range.family, ...usable(range) })).sort((a, b) => (a.first < b.first ? -1 : 1))
  for (const { family, first, count } of byStart) {
    const last = spans[family]?.at(-1)
    const end = first + count
    if (last === undefined || first > last.end) spans[family]?.push({ first, end })
    else if (end > last.end) last.end = end
  }
  return (address) => {
    const list = spans[familyOf(address)] ?? []
    const value = addressNumber(address)
    let low = 0
    let high = list.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((list[middle]?.first ?? 0n) <= value) low = middle + 1
      else high = middle
    }
    return value < (list[low - 1]?.end ?? 0n)
  }
}

async function patchFinalizers(name: string, metadata: object, client: ReconcileContext['client']): Promise<void> {
  await client.patch(ServiceCIDR, { name }, { metadata }).catch(ignoreNotFound)
}

async function setCondition(
  { metadata, status }: V1ServiceCIDR,
  wanted: ConditionFacts,
  { client, clock }: ReconcileContext,
): Promise<void> {
  if (isSameCondition(findCondition(status?.conditions, 'Ready'), wanted)) return
  const condition = { type: 'Ready', ...wanted, lastTransitionTime: formatTime(clock.now()) }
  const applied = { metadata: { name: metadata.name ?? '' }, status: { conditions: [condition] } }
  await client.apply(ServiceCIDR, applied, { subresource: 'status', fieldManager: 'service-cidr-controller', force: true })
}
