import assert from 'node:assert/strict'
import { test } from 'node:test'
import { podGroupResource } from '#api/scheduling/v1alpha2/pod-group.ts'
import type {
  V1alpha2PodGroup,
  V1alpha2PodGroupSpec,
  V1alpha2PodGroupTemplate,
  V1alpha2Workload,
} from '#api/scheduling/v1alpha2/types.gen.ts'
import { workloadResource } from '#api/scheduling/v1alpha2/workload.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const metadata = { name: 'a', namespace: 'default', resourceVersion: '1' }
const on = { isEnabled: () => true }
const gang = { gang: { minCount: 2 } }
const workload = (...podGroupTemplates: V1alpha2PodGroupTemplate[]): V1alpha2Workload => ({ metadata, spec: { podGroupTemplates } })
const group = (spec: Partial<V1alpha2PodGroupSpec> = {}): V1alpha2PodGroup => ({ metadata, spec: { schedulingPolicy: gang, ...spec } })

test('workloads are validated in the words clients know', () => {
  const template = { name: 't', schedulingPolicy: gang }
  const at = 'spec.podGroupTemplates'
  const cases: [V1alpha2Workload, string[]][] = [
    [workload(template), []],
    [workload(), [`${at}: Required value`]],
    [
      workload({ ...template, schedulingPolicy: {} }),
      [`${at}[0].schedulingPolicy: Invalid value: "": must specify one of: \`basic\`, \`gang\``],
    ],
    [
      workload({ ...template, schedulingPolicy: { basic: {}, gang: { minCount: -1 } } }),
      [
        `${at}[0].schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: \`basic\`, \`gang\``,
        `${at}[0].schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1`,
      ],
    ],
    [
      workload({ ...template, disruptionMode: 'Nope' }),
      [`${at}[0].disruptionMode: Unsupported value: "Nope": supported values: "Pod", "PodGroup"`],
    ],
    [
      { metadata, spec: { ...workload(template).spec, controllerRef: { kind: '', name: 'a/b' } } },
      ['spec.controllerRef.kind: Required value', 'spec.controllerRef.name: Invalid value: "a/b": may not contain \'/\''],
    ],
  ]
  for (const [given, errors] of cases) assert.deepEqual(tryCreate(workloadResource, given, on).errors, errors)
  assert.deepEqual(tryUpdate(workloadResource, workload(template), workload({ ...template, name: 'u' }), on).errors, [
    `${at}: Invalid value: null: field is immutable`,
  ])
})

test('a group of pods never changes, and drops what is switched off', () => {
  const given = group({ priority: 5, disruptionMode: 'PodGroup' })
  assert.deepEqual(tryCreate(podGroupResource, given).object.spec, { schedulingPolicy: gang })
  assert.deepEqual(tryCreate(podGroupResource, group(), on).object.spec.disruptionMode, 'Pod')
  assert.deepEqual(tryUpdate(podGroupResource, given, group({ priority: 6, disruptionMode: 'PodGroup' }), on).errors, [
    'spec.priority: Invalid value: null: field is immutable',
  ])
})

test('a group tells whether its pods found a place', () => {
  const condition = { type: 'PodGroupScheduled', status: 'True', reason: 'R', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }
  assert.deepEqual(
    [tryRow(podGroupResource, group())['Status'], tryRow(podGroupResource, { ...group(), status: { conditions: [condition] } })['Status']],
    ['Pending', 'Scheduled'],
  )
  const status = { resourceClaimStatuses: [{ name: 'x' }] }
  assert.deepEqual(tryUpdate(podGroupResource, group(), { ...group(), status }, { ...on, subresource: 'status' }).errors, [
    'status.resourceClaimStatuses[0].name: Invalid value: "x": must match the name of an entry in `spec.resourceClaims`',
  ])
})
