import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeResource } from '#api/core/v1/node/node.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const { isEnabled } = new FeatureGates()
const node = (spec: object, status: object = {}, metadata: object = {}): V1Node => ({
  metadata: { name: 'a', resourceVersion: '1', ...metadata },
  spec,
  status,
})

test('nodes are validated in the words clients know', () => {
  const cases: [string, V1Node, string[]][] = [
    ['a plain one', node({ podCIDR: '10.0.0.0/24', taints: [{ key: 'a', effect: 'NoSchedule' }] }), []],
    ['a taint without effect', node({ taints: [{ key: 'a' }] }), ['metadata.taints[0].effect: Required value']],
    [
      'a taint twice',
      node({
        taints: [
          { key: 'a', effect: 'NoSchedule' },
          { key: 'a', value: 'v', effect: 'NoSchedule' },
        ],
      }),
      [
        'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"v","Effect":"NoSchedule","TimeAdded":null}: taints must be unique by key and effect pair',
      ],
    ],
    [
      'two ranges of one family',
      node({ podCIDRs: ['10.0.0.0/24', '10.0.1.0/24'] }),
      ['spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one CIDR for each IP family'],
    ],
    [
      'a negative capacity',
      node({}, { capacity: { cpu: '-1' }, allocatable: {} }),
      ['status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0'],
    ],
    [
      'half a pod',
      node({}, { capacity: { pods: '500m' }, allocatable: {} }),
      ['status.capacity.pods: Invalid value: "500m": must be an integer'],
    ],
    [
      'features out of order',
      node({}, { declaredFeatures: ['B', 'A', 'A', 'x'] }),
      [
        'status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically',
        'status.declaredFeatures[2]: Duplicate value: "A"',
        `status.declaredFeatures[3]: Invalid value: "x": invalid feature name "x": must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`,
      ],
    ],
    [
      'pods it would rather not have',
      node({}, {}, { annotations: { 'scheduler.alpha.kubernetes.io/preferAvoidPods': '{"preferAvoidPods":[{}]}' } }),
      ['metadata.annotations.scheduler.alpha.kubernetes.io/preferAvoidPods[0].PodSignature: Required value'],
    ],
  ]
  for (const [name, given, errors] of cases) assert.deepEqual(tryCreate(nodeResource, given, { isEnabled }).errors, errors, name)
})

test('what a node was given stays', () => {
  const update = (prev: object, next: object) => tryUpdate(nodeResource, node(prev), node(next), { isEnabled }).errors
  assert.deepEqual(update({}, { podCIDR: '10.0.0.0/24' }), [])
  assert.deepEqual(update({ podCIDRs: ['10.0.0.0/24'] }, { podCIDRs: ['10.0.1.0/24'] }), [
    'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
  ])
  assert.deepEqual(update({ providerID: 'x' }, { providerID: 'y' }), [
    'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
  ])
})

test('what is allocatable is what there is, unless the node says otherwise', () => {
  assert.deepEqual(tryCreate(nodeResource, node({}, { capacity: { cpu: '2' } }), { isEnabled }).object.status?.allocatable, { cpu: '2' })
})

test('the table', () => {
  const labels = { 'node-role.kubernetes.io/worker': '', 'node-role.kubernetes.io/control-plane': '', 'kubernetes.io/role': 'edge' }
  const ready = {
    conditions: [{ type: 'Ready', status: 'True' }],
    addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
    nodeInfo: { kubeletVersion: 'v1.36.0', kernelVersion: '6.1', architecture: 'amd64' },
  }
  const row = tryRow(nodeResource, node({ unschedulable: true }, ready, { labels }))
  assert.deepEqual(
    [row['Status'], row['Roles'], row['Version'], row['Internal-IP'], row['External-IP'], row['OS-Image'], row['Kernel-Version']],
    ['Ready,SchedulingDisabled', 'control-plane,edge,worker', 'v1.36.0', '10.0.0.1', '<none>', '<unknown>', '6.1 (amd64)'],
  )
  assert.equal(tryRow(nodeResource, node({}))['Status'], 'Unknown')
})
