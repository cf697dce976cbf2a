import assert from 'node:assert/strict'
import { test } from 'node:test'
import { computeQosClass, effectivePodRequests, podLimits, podRequests, type Quantities } from '#api/core/v1/resources.ts'
import type { V1PodSpec } from '#api/core/v1/types.gen.ts'

const shown = (quantities: Quantities) => Object.fromEntries(Object.entries(quantities).map(([name, quantity]) => [name, String(quantity)]))
const spec = (given: object): V1PodSpec => given as V1PodSpec
const asking = (cpu: string, more: object = {}) => ({ name: 'c', resources: { requests: { cpu }, limits: { cpu } }, ...more })

test('containers run together, init containers one after another beside their sidecars', () => {
  const cases: [string, V1PodSpec, string][] = [
    ['two containers', spec({ containers: [asking('1'), asking('500m')] }), '1500m'],
    ['a larger init container', spec({ initContainers: [asking('3')], containers: [asking('1')] }), '3'],
    ['a sidecar', spec({ initContainers: [asking('1', { restartPolicy: 'Always' })], containers: [asking('2')] }), '3'],
    [
      'an init container beside a sidecar',
      spec({ initContainers: [asking('2', { restartPolicy: 'Always' }), asking('3')], containers: [asking('1')] }),
      '5',
    ],
    [
      'an init container before a sidecar',
      spec({ initContainers: [asking('3'), asking('2', { restartPolicy: 'Always' })], containers: [asking('1')] }),
      '3',
    ],
    ['the pod as a whole', spec({ resources: { requests: { cpu: '7' } }, containers: [asking('1')] }), '7'],
    ['overhead', spec({ overhead: { cpu: '100m' }, containers: [asking('1')] }), '1100m'],
  ]
  for (const [name, given, cpu] of cases) assert.equal(shown(podRequests(given))['cpu'], cpu, name)
})

test('overhead adds to a limit, and makes none', () => {
  const overhead = { cpu: '1', memory: '1Gi' }
  assert.deepEqual(shown(podLimits(spec({ overhead, containers: [asking('1')] }))), { cpu: '2' })
})

test('the class follows from what all containers limit', () => {
  const both = { cpu: '1', memory: '1Gi' }
  const cases: [object, string][] = [
    [{ containers: [{ name: 'c' }] }, 'BestEffort'],
    [{ containers: [{ name: 'c', resources: { requests: { cpu: '0' } } }] }, 'BestEffort'],
    [{ containers: [{ name: 'c', resources: { requests: both, limits: both } }] }, 'Guaranteed'],
    [{ containers: [{ name: 'c', resources: { requests: both, limits: both } }, { name: 'd' }] }, 'Burstable'],
    [{ containers: [{ name: 'c', resources: { requests: { cpu: '1' }, limits: both } }] }, 'Burstable'],
    [{ containers: [{ name: 'c' }], resources: { requests: both, limits: both } }, 'Guaranteed'],
    [{ containers: [{ name: 'c' }], resources: { limits: { cpu: '1' } } }, 'Burstable'],
  ]
  for (const [given, expected] of cases) assert.equal(computeQosClass(spec(given)), expected, JSON.stringify(given))
})

test('a resize that is under way counts with the larger of before and after', () => {
  const containerStatus = { name: 'c', image: 'i', imageID: 'i', ready: true, restartCount: 0 }
  const cpuOf = (asked: string, actual: string, allotted: string, reason?: string) => {
    const status = { ...containerStatus, resources: { requests: { cpu: actual } }, allocatedResources: { cpu: allotted } }
    const conditions = reason === undefined ? [] : [{ type: 'PodResizePending', status: 'True', reason }]
    const pod = { metadata: {}, spec: spec({ containers: [asking(asked)] }), status: { containerStatuses: [status], conditions } }
    return shown(effectivePodRequests(pod))['cpu']
  }
  assert.equal(cpuOf('1', '1', '1'), '1')
  assert.equal(cpuOf('3', '1', '2'), '3')
  assert.equal(cpuOf('1', '3', '2'), '3')
  assert.equal(cpuOf('9', '1', '2', 'Deferred'), '9')
  assert.equal(cpuOf('9', '1', '2', 'Infeasible'), '2')
})
