import { Pod } from '#api/core/v1/kinds.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { formatTime, parseTime } from '#api/meta/time.ts'
import { ResourceClaim, ResourceSlice } from '#api/resource/v1/kinds.gen.ts'
import { DeviceTaintRule } from '#api/resource/v1beta2/kinds.gen.ts'
import type { V1beta2DeviceTaintRule } from '#api/resource/v1beta2/types.gen.ts'
import { defined } from '#base/defined.ts'
import { currentSlices, podEviction, poolKeyOf, resultsOf, ruleMatches } from '#controllers/device-taint-eviction/device-eviction.ts'
import type { EvictionRecord } from '#controllers/device-taint-eviction/eviction-record.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import type { Trigger } from '#controllers/runtime/triggers.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

const type = 'EvictionInProgress'
/** While pods go, the status is written no more often. */
const periodMs = 10_000

/** Tells of each rule how many pods are still to go because of it. */
export function ruleStatus({ name, record }: { name: string; record: EvictionRecord }): Controller {
  return defineController({
    name,
    queueName: `${name}_rules`,
    serviceAccount: name,
    for: DeviceTaintRule,
    reads: [Pod, ResourceClaim, ResourceSlice],
    ignores: (next, prev) => prev !== undefined && next.metadata.generation === prev.metadata.generation,
    watches: [onAffectedPod],

    async reconcile(rule, { cache, client, clock, requeueAfter }) {
      const existing = findCondition(rule.status?.conditions ?? [], type)
      const { name: ruleName = '', generation, uid } = rule.metadata
      if (existing !== undefined && existing.observedGeneration === generation) {
        const sinceMs = clock.now() - parseTime(existing.lastTransitionTime ?? '')
        if (sinceMs < periodMs) return requeueAfter(periodMs - sinceMs)
      }
      const wanted = conditionOf(rule, cache, record.podsOf(ruleName))
      if (wanted.status === 'True') requeueAfter(periodMs)
      const isSame =
        existing?.status === wanted.status &&
        existing.reason === wanted.reason &&
        existing.message === wanted.message &&
        existing.observedGeneration === generation
      if (isSame) return
      const condition = { type, ...wanted, lastTransitionTime: formatTime(clock.now()), ...defined({ observedGeneration: generation }) }
      const applied = { metadata: { name: ruleName, ...defined({ uid }) }, status: { conditions: [condition] } }
      await client.apply(DeviceTaintRule, applied, { subresource: 'status', fieldManager: name, force: true })
    },
    async reconcileGone(_namespace, gone) {
      record.forgetRule(gone)
    },
  })
}

/** More pods may follow, so that nobody looks at once. */
const onAffectedPod: Trigger = ({ cache, enqueue }) => {
  const look = (pod: Parameters<typeof podEviction>[0]) => {
    if (!pod.spec.resourceClaims?.length || !pod.spec.nodeName) return
    for (const rule of podEviction(pod, cache, evictingRules(cache))?.rules ?? []) enqueue(rule, periodMs)
  }
  return cache.informer(Pod).addHandler({ onAdd: look, onUpdate: look, onDelete: look })
}

const evictingRules = (cache: Cache) => cache.list(DeviceTaintRule).filter(({ spec }) => spec.taint.effect === 'NoExecute')

function conditionOf(rule: V1beta2DeviceTaintRule, cache: Cache, evicted: number): { status: string; reason: string; message: string } {
  const progress = stateOf(rule, cache, evicted)
  const done = evicted > 0 ? `${counted(evicted, 'pod')} evicted since starting the controller.` : ''
  return { ...progress, message: [progress.message, done].filter((text) => text !== '').join(' ') }
}

function stateOf(rule: V1beta2DeviceTaintRule, cache: Cache, evicted: number): { status: string; reason: string; message: string } {
  const { effect } = rule.spec.taint
  if (effect === 'NoExecute') {
    const { pods, namespaces } = pending(rule, cache, evictingRules(cache))
    if (pods > 0) {
      const message = `${pods === 1 ? '1 pod needs' : `${pods} pods need`} to be evicted in ${places(namespaces)}.`
      return { status: 'True', reason: 'PodsPendingEviction', message }
    }
    return { status: 'False', reason: evicted > 0 ? 'Completed' : 'NotStarted', message: '' }
  }
  if (effect !== 'None') return { status: 'False', reason: 'OtherEffect', message: 'Eviction only happens for the NoExecute effect.' }
  const { pods, namespaces } = pending(rule, cache, [rule])
  const message = [
    `${counted(publishedDevices(rule, cache), 'published device')} selected.`,
    `${counted(allocatedDevices(rule, cache), 'allocated device')} selected.`,
    `${counted(pods, 'pod')} would be evicted in ${places(namespaces)} if the effect was NoExecute.`,
    'This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.',
  ]
  return { status: 'False', reason: 'NoEffect', message: message.join(' ') }
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
const places = (count: number): string => (count === 1 ? '1 namespace' : `${count} different namespaces`)

function pending(rule: V1beta2DeviceTaintRule, cache: Cache, rules: readonly V1beta2DeviceTaintRule[]) {
  const affected = cache
    .list(Pod)
    .filter((pod) => pod.spec.resourceClaims?.length && !isDeleting(pod))
    .filter((pod) => podEviction(pod, cache, rules)?.rules.has(rule.metadata.name ?? ''))
  return { pods: affected.length, namespaces: new Set(affected.map(({ metadata }) => metadata.namespace)).size }
}

function publishedDevices(rule: V1beta2DeviceTaintRule, cache: Cache): number {
  return [...Map.groupBy(cache.list(ResourceSlice), poolKeyOf).values()]
    .flatMap(currentSlices)
    .flatMap(({ spec }) => (spec.devices ?? []).map(({ name: device }) => ({ driver: spec.driver, pool: spec.pool.name, device })))
    .filter((place) => ruleMatches(rule, place)).length
}

const allocatedDevices = (rule: V1beta2DeviceTaintRule, cache: Cache): number =>
  cache
    .list(ResourceClaim)
    .flatMap(resultsOf)
    .filter((result) => ruleMatches(rule, result)).length
