/** Which pods lose their devices to NoExecute taints, when, and to which. */
import { toleratesTaint } from '#api/core/v1/node/tolerations.ts'
import { claimOf } from '#api/core/v1/pod/pod-claims.ts'
import type { V1Pod, V1Taint } from '#api/core/v1/types.gen.ts'
import { controllerOf } from '#api/meta/owner-references.ts'
import { parseTime } from '#api/meta/time.ts'
import { ResourceClaim, ResourceSlice } from '#api/resource/v1/kinds.gen.ts'
import type {
  V1DeviceRequestAllocationResult,
  V1DeviceTaint,
  V1DeviceToleration,
  V1ResourceClaim,
  V1ResourceSlice,
} from '#api/resource/v1/types.gen.ts'
import type { V1beta2DeviceTaintRule } from '#api/resource/v1beta2/types.gen.ts'
import { largest } from '#base/append.ts'
import { isReservedFor } from '#controllers/resourceclaim/pod-claims.ts'
import type { Cache } from '#controllers/runtime/cache.ts'

/** `rules` are the names of those that are a reason. */
export type DeviceEviction = { readonly atMs: number; readonly rules: ReadonlySet<string> }

export const byPool = 'device pool'

export const poolKey = ({ driver, pool }: { driver: string; pool: string }): string => `${driver}/${pool}`
export const poolKeyOf = ({ spec }: V1ResourceSlice): string => poolKey({ driver: spec.driver, pool: spec.pool.name })
export const resultsOf = ({ status }: V1ResourceClaim): readonly V1DeviceRequestAllocationResult[] =>
  status?.allocation?.devices?.results ?? []

/** The slices of the pool that count: those of its latest generation. */
export function currentSlices(all: readonly V1ResourceSlice[]): V1ResourceSlice[] {
  const generation = largest(
    0,
    all.map(({ spec }) => spec.pool.generation),
  )
  return all.filter(({ spec }) => spec.pool.generation === generation)
}

export function ruleMatches({ spec }: V1beta2DeviceTaintRule, place: { driver: string; pool: string; device: string }): boolean {
  const { deviceSelector: selector } = spec
  if (selector === undefined) return false
  return (['driver', 'pool', 'device'] as const).every((part) => selector[part] === undefined || selector[part] === place[part])
}

/** Undefined where the pod may stay. `rules` are those that evict. */
export function podEviction(pod: V1Pod, cache: Cache, rules: readonly V1beta2DeviceTaintRule[]): DeviceEviction | undefined {
  if (!pod.spec.nodeName) return undefined
  let eviction: DeviceEviction | undefined
  for (const entry of pod.spec.resourceClaims ?? []) {
    const named = claimOf(pod, entry)
    const claim = named ? cache.get(ResourceClaim, pod.metadata.namespace ?? '', named.name) : undefined
    if (claim === undefined || (named?.isGenerated && controllerOf(claim)?.uid !== pod.metadata.uid) || !isReservedFor(claim, pod)) continue
    eviction = earlier(eviction, claimEviction(claim, cache, rules))
  }
  return eviction
}

function earlier(one: DeviceEviction | undefined, other: DeviceEviction | undefined): DeviceEviction | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return { atMs: Math.min(one.atMs, other.atMs), rules: one.rules.union(other.rules) }
}

function claimEviction(claim: V1ResourceClaim, cache: Cache, rules: readonly V1beta2DeviceTaintRule[]): DeviceEviction | undefined {
  let eviction: DeviceEviction | undefined
  for (const result of resultsOf(claim)) {
    const devices = currentSlices(cache.byIndex(ResourceSlice, byPool, poolKey(result))).flatMap(({ spec }) => spec.devices ?? [])
    const own = devices.find(({ name }) => name === result.device)?.taints ?? []
    const taints = [
      ...own.filter(({ effect }) => effect === 'NoExecute').map((taint) => ({ taint, rule: undefined })),
      ...rules.filter((rule) => ruleMatches(rule, result)).map((rule) => ({ taint: asEvicting(rule), rule: rule.metadata.name })),
    ]
    for (const { taint, rule } of taints) {
      const seconds = toleratedSeconds(taint, result.tolerations ?? [])
      if (seconds === undefined) continue
      const atMs = (taint.timeAdded ? parseTime(taint.timeAdded) : 0) + seconds * 1000
      eviction = earlier(eviction, { atMs, rules: new Set(rule === undefined ? [] : [rule]) })
    }
  }
  return eviction
}

const asEvicting = ({ spec }: V1beta2DeviceTaintRule): V1DeviceTaint => ({ ...spec.taint, effect: 'NoExecute' })

/** Undefined is for ever, 0 not at all. */
function toleratedSeconds(taint: V1DeviceTaint, tolerations: readonly V1DeviceToleration[]): number | undefined {
  const fitting = tolerations.filter((each) => each.effect === 'NoExecute' && toleratesTaint(each, taint as V1Taint))
  if (fitting.some(({ tolerationSeconds }) => tolerationSeconds === undefined)) return undefined
  if (fitting.length === 0) return 0
  return Math.min(...fitting.map(({ tolerationSeconds = 0 }) => Math.max(0, tolerationSeconds)))
}
