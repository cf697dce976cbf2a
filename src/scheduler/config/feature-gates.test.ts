import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { gatesWithoutEffect } from '#api/meta/gates-without-effect.ts'
import type { V1ResourceClaim, V1ResourceSlice } from '#api/resource/v1/types.gen.ts'
import { effectiveSchedulerGates, refuseGatedClaim, sightOf } from '#scheduler/config/feature-gates.ts'
import { aPod } from '#scheduler/testing/objects.ts'

const gates = (...overrides: string[]) => new FeatureGates(overrides.join(',')).isEnabled

test('gates that are asked for and change nothing are named', () => {
  const given = ['GangScheduling=true', 'PodLevelResources=false', 'AllAlpha=true', 'EnvFiles=true']
  assert.deepEqual(gatesWithoutEffect(given, effectiveSchedulerGates), ['GangScheduling'])
  assert.throws(() => gatesWithoutEffect(['Nonsense=true'], effectiveSchedulerGates), /unrecognized feature gate: Nonsense/)
})

test('fields of a pod whose gates are off are not seen', () => {
  const pod = aPod('p', {
    spec: {
      resources: { requests: { cpu: '1' } },
      tolerations: [{ key: 'rank', operator: 'Gt', value: '5' }, { operator: 'Exists' }],
      topologySpreadConstraints: [{ topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', matchLabelKeys: ['rev'] }],
    },
  })
  const usual = sightOf(gates())('Pod', pod)?.spec
  assert.deepEqual(usual?.resources, { requests: { cpu: '1' } })
  assert.deepEqual(usual?.topologySpreadConstraints?.[0]?.matchLabelKeys, ['rev'])
  assert.deepEqual(usual?.tolerations, [{ operator: 'Exists' }])
  assert.equal(sightOf(gates('TaintTolerationComparisonOperators=true'))('Pod', pod), pod)
  const less = sightOf(gates('PodLevelResources=false', 'MatchLabelKeysInPodTopologySpread=false'))('Pod', pod)?.spec
  assert.equal(less?.resources, undefined)
  assert.equal(less?.topologySpreadConstraints?.[0]?.matchLabelKeys, undefined)
})

test('devices that need a gate which is off are not there, or are what they were before it', () => {
  const slice: V1ResourceSlice = {
    metadata: { name: 's' },
    spec: {
      driver: 'd',
      pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
      nodeName: 'n',
      devices: [
        { name: 'tainted', taints: [{ key: 'k', effect: 'NoSchedule' }] },
        { name: 'shared', allowMultipleAllocations: true },
        { name: 'slow', bindingConditions: ['Ready'] },
        { name: 'part', consumesCounters: [{ counterSet: 'c', counters: { n: { value: '1' } } }] },
      ],
    },
  }
  const devices = (...overrides: string[]) => sightOf(gates(...overrides))('ResourceSlice', slice)?.spec.devices ?? []
  const names = (...overrides: string[]) => devices(...overrides).map(({ name }) => name)
  assert.deepEqual(names(), ['tainted', 'shared', 'slow', 'part'])
  assert.equal(devices('DRADeviceTaints=false')[0]?.taints, undefined)
  assert.equal(devices('DRAConsumableCapacity=false')[1]?.allowMultipleAllocations, undefined)
  assert.deepEqual(names('DRADeviceBindingConditions=false'), ['tainted', 'shared', 'part'])
  assert.deepEqual(names('DRAPartitionableDevices=false'), ['tainted', 'shared', 'slow'])
})

test('a claim that asks for what is switched off is refused', () => {
  const claim: V1ResourceClaim = {
    metadata: { namespace: 'ns', name: 'c' },
    spec: { devices: { requests: [{ name: 'r', firstAvailable: [{ name: 's', deviceClassName: 'x', capacity: {} }] }] } },
  }
  refuseGatedClaim(claim, gates())
  assert.throws(
    () => refuseGatedClaim(claim, gates('DRAPrioritizedList=false')),
    /claim ns\/c, request r: has subrequests, but the DRAPrioritizedList feature is disabled/,
  )
  assert.throws(
    () => refuseGatedClaim(claim, gates('DRAConsumableCapacity=false')),
    /claim ns\/c, subrequest s: has capacity requests, but the DRAConsumableCapacity feature is disabled/,
  )
})
