import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { podsToPreempt } from '#kubelet/node/pods-to-preempt.ts'

const allocatable = { cpu: '2', memory: '1Gi', pods: '10' }

type Size = { cpu?: string; memory?: string; isGuaranteed?: boolean; priority?: number }

const aPod = (name: string, { cpu, memory, isGuaranteed = false, priority = 0 }: Size = {}): V1Pod => {
  const requests = { ...(cpu && { cpu }), ...(memory && { memory }) }
  const resources = isGuaranteed ? { requests, limits: requests } : { requests }
  return { metadata: { name, uid: name }, spec: { priority, containers: [{ name: 'c', resources }] } }
}
const critical = (size: Size) => aPod('critical', { priority: 2_000_000_000, ...size })
const names = (pods: V1Pod[] | undefined) => pods?.map(({ metadata }) => metadata.name)

test('the fewest pods of least service go that make room', () => {
  const others = [
    aPod('idle'),
    aPod('small', { cpu: '250m' }),
    aPod('fitting', { cpu: '500m' }),
    aPod('large', { cpu: '750m' }),
    aPod('guaranteed', { cpu: '500m', memory: '10Mi', isGuaranteed: true }),
  ]
  assert.deepEqual(names(podsToPreempt(critical({ cpu: '500m' }), others, allocatable)), ['fitting'])
  assert.deepEqual(names(podsToPreempt(critical({ cpu: '250m' }), others, allocatable)), ['small'])
  assert.deepEqual(names(podsToPreempt(critical({ cpu: '1800m' }), others, allocatable)), ['large', 'fitting', 'small', 'guaranteed'])
})

test('where the number of pods is what is short, one that asks for nothing goes', () => {
  const others = Array.from({ length: 10 }, (_, index) => aPod(`p${index}`, index === 7 ? {} : { cpu: '10m' }))
  assert.deepEqual(names(podsToPreempt(critical({ cpu: '10m' }), others, allocatable)), ['p7'])
})

test('critical pods give way to more important ones alone, and nobody where that does not help', () => {
  const other = aPod('system', { cpu: '2', priority: 2_000_000_000 })
  assert.equal(podsToPreempt(critical({ cpu: '1' }), [other], allocatable), undefined)
  assert.deepEqual(names(podsToPreempt(critical({ cpu: '1', priority: 2_000_001_000 }), [other], allocatable)), ['system'])
  assert.equal(podsToPreempt(critical({ cpu: '3' }), [aPod('a', { cpu: '1' })], allocatable), undefined)
  assert.equal(podsToPreempt(aPod('ordinary', { cpu: '1' }), [aPod('a', { cpu: '2' })], allocatable), undefined)
})
