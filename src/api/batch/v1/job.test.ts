import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jobResource } from '#api/batch/v1/job.ts'
import type { V1Job, V1JobCondition, V1JobSpec, V1JobStatus } from '#api/batch/v1/types.gen.ts'
import type { V1PodSpec } from '#api/core/v1/types.gen.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const metadata = { name: 'a', namespace: 'default', uid: 'u', resourceVersion: '1', generation: 1 }
const podSpec: V1PodSpec = { restartPolicy: 'Never', containers: [{ name: 'c', image: 'busybox' }] }
const job = (spec: Partial<V1JobSpec> = {}): V1Job => ({ metadata, spec: { template: { spec: podSpec }, ...spec } })
const on = { isEnabled: () => true }
const stored = (spec: Partial<V1JobSpec> = {}): V1Job => {
  const { object, errors } = tryCreate(jobResource, job(spec), on)
  assert.deepEqual(errors, [])
  return object
}

test('a job selects the pods that carry its uid, and labels them with its name', () => {
  const { metadata: meta, spec } = stored()
  const labels = {
    'batch.kubernetes.io/controller-uid': 'u',
    'batch.kubernetes.io/job-name': 'a',
    'controller-uid': 'u',
    'job-name': 'a',
  }
  assert.deepEqual(spec.selector, { matchLabels: { 'batch.kubernetes.io/controller-uid': 'u' } })
  assert.deepEqual(spec.template.metadata?.labels, labels)
  assert.equal(meta.labels, undefined)
  const object = stored()
  jobResource.settle?.(object)
  assert.deepEqual(object.metadata.labels, labels)
})

test('a job runs one pod to its end, six times over if need be', () => {
  const { completions, parallelism, backoffLimit, completionMode, suspend, podReplacementPolicy, manualSelector } = stored().spec
  assert.deepEqual(
    { completions, parallelism, backoffLimit, completionMode, suspend, podReplacementPolicy, manualSelector },
    {
      completions: 1,
      parallelism: 1,
      backoffLimit: 6,
      completionMode: 'NonIndexed',
      suspend: false,
      podReplacementPolicy: 'TerminatingOrFailed',
      manualSelector: false,
    },
  )
  assert.equal(stored({ parallelism: 3 }).spec.completions, undefined)
  assert.equal(stored({ completionMode: 'Indexed', completions: 2, backoffLimitPerIndex: 1 }).spec.backoffLimit, 2147483647)
})

test('jobs are validated in the words clients know', () => {
  const indexed = { completionMode: 'Indexed', completions: 3 }
  const failure = (rule: object) => ({ podFailurePolicy: { rules: [{ action: 'FailJob', ...rule }] } })
  const codes = (values: number[], operator = 'In') => failure({ onExitCodes: { operator, values } })
  const rule = 'spec.podFailurePolicy.rules[0]'
  const success = (...rules: object[]) => ({ ...indexed, successPolicy: { rules } })
  const cases: [string, Partial<V1JobSpec>, string[]][] = [
    ['indexes', indexed, []],
    ['exit codes', codes([1, 2]), []],
    ['enough indexes', success({ succeededIndexes: '0,2', succeededCount: 1 }), []],
    ['a negative number', { parallelism: -1 }, ['spec.parallelism: Invalid value: -1: must be greater than or equal to 0']],
    [
      'an unknown mode',
      { completionMode: 'Nope' },
      ['spec.completionMode: Unsupported value: "Nope": supported values: "NonIndexed", "Indexed"'],
    ],
    [
      'indexes without an end',
      { completionMode: 'Indexed', parallelism: 2 },
      ['spec.completions: Required value: when completion mode is Indexed'],
    ],
    [
      'limits by index without indexes',
      { backoffLimitPerIndex: 1 },
      ['spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode'],
    ],
    [
      'a limit of failed indexes alone',
      { ...indexed, maxFailedIndexes: 4 },
      [
        'spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified',
        'spec.maxFailedIndexes: Invalid value: 4: must be less than or equal to completions',
      ],
    ],
    [
      'somebody else who is nobody',
      { managedBy: 'x' },
      ['spec.managedBy: Invalid value: "x": must be a domain-prefixed path (such as "acme.io/foo")'],
    ],
    ['no codes', codes([]), [`${rule}.onExitCodes.values: Invalid value: []: at least one value is required`]],
    [
      'codes in disorder',
      codes([2, 0, 2]),
      [
        `${rule}.onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator`,
        `${rule}.onExitCodes.values[2]: Duplicate value: 2`,
        `${rule}.onExitCodes.values: Invalid value: [2,0,2]: must be ordered`,
      ],
    ],
    [
      'a rule for nothing',
      failure({ action: 'Nope' }),
      [
        `${rule}.action: Unsupported value: "Nope": supported values: "Count", "FailIndex", "FailJob", "Ignore"`,
        `${rule}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required`,
      ],
    ],
    [
      'a rule for a container that is not there',
      failure({ onExitCodes: { containerName: 'x', operator: 'In', values: [1] } }),
      [`${rule}.onExitCodes.containerName: Invalid value: "x": must be one of the container or initContainer names in the pod template`],
    ],
    [
      'success without indexes',
      { successPolicy: { rules: [{ succeededCount: 1 }] } },
      ['spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed completion mode'],
    ],
    [
      'success of indexes that are not there',
      success({ succeededIndexes: '1-7' }),
      ['spec.successPolicy.rules[0].succeededIndexes: Invalid value: "1-7": error parsing succeededIndexes: too large index: "7"'],
    ],
    [
      'success of more than there are',
      success({ succeededIndexes: '0', succeededCount: 2 }),
      [
        'spec.successPolicy.rules[0].succeededCount: Invalid value: 2: must be less than or equal to 1 (the number of indexes in the specified succeededIndexes field)',
      ],
    ],
    [
      'pods that never end',
      { template: { spec: { ...podSpec, restartPolicy: 'Always' } } },
      ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
    ],
    [
      'a selector that is not the job’s own',
      { selector: { matchLabels: { x: 'y' } } },
      [
        'spec.selector: Invalid value: {"matchLabels":{"batch.kubernetes.io/controller-uid":"u","x":"y"}}: `selector` not auto-generated',
        'spec.template.metadata.labels: Invalid value: {"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"a","controller-uid":"u","job-name":"a"}: `selector` does not match template `labels`',
      ],
    ],
  ]
  for (const [name, spec, errors] of cases) assert.deepEqual(tryCreate(jobResource, job(spec), on).errors, errors, name)
})

test('what a job does never changes, how much of it at once does', () => {
  const prev = stored()
  const change = (spec: Partial<V1JobSpec>) => tryUpdate(jobResource, prev, { ...prev, spec: { ...prev.spec, ...spec } }, on).errors
  assert.deepEqual(change({ parallelism: 5, suspend: true, activeDeadlineSeconds: 9 }), [])
  assert.deepEqual(change({ completions: 2 }), ['spec.completions: Invalid value: 2: field is immutable'])
  assert.deepEqual(change({ managedBy: 'a/b' }), ['spec.managedBy: Invalid value: "a/b": field is immutable'])
  const [error = ''] = change({ template: { ...prev.spec.template, spec: { ...podSpec, nodeSelector: { a: 'b' } } } })
  assert.match(error, /^spec\.template: Invalid value: \{.*"NodeSelector":\{"a":"b"\}.*\}: field is immutable$/)
})

test('an indexed job grows and shrinks if both its numbers do', () => {
  const prev = stored({ completionMode: 'Indexed', completions: 3, parallelism: 3 })
  const resize = (completions: number, parallelism: number) =>
    tryUpdate(jobResource, prev, { ...prev, spec: { ...prev.spec, completions, parallelism } }, on).errors
  assert.deepEqual(resize(5, 5), [])
  assert.deepEqual(resize(5, 3), ['spec.completions: Invalid value: 5: can only be modified in tandem with spec.parallelism'])
})

test('a suspended job may still be sent elsewhere, and given more', () => {
  const prev = stored({ suspend: true })
  const moved = {
    ...podSpec,
    nodeSelector: { a: 'b' },
    containers: [{ name: 'c', image: 'busybox', resources: { requests: { cpu: '1' } } }],
  }
  const next = { ...prev, spec: { ...prev.spec, template: { ...prev.spec.template, spec: moved } } }
  assert.deepEqual(tryUpdate(jobResource, prev, next, on).errors, [])
  const gates = (gate: string) => gate !== 'MutablePodResourcesForSuspendedJobs'
  assert.equal(tryUpdate(jobResource, prev, next, { isEnabled: gates }).errors.length, 1)
  const running = { ...prev, status: { active: 1 } }
  assert.equal(tryUpdate(jobResource, running, { ...next, status: running.status }, on).errors.length, 1)
})

const condition = (type: string, status = 'True'): V1JobCondition => ({ type, status })
const startTime = '2026-01-01T00:00:00Z'
const completionTime = '2026-01-01T01:00:00Z'
const done = { startTime, completionTime, conditions: [condition('SuccessCriteriaMet'), condition('Complete')] }

test('the status of a job tells one story, and never takes it back', () => {
  const cases: [string, V1JobStatus, V1JobStatus, string[]][] = [
    ['done', { startTime, active: 1 }, done, []],
    ['failed', { startTime }, { startTime, conditions: [condition('FailureTarget'), condition('Failed')] }, []],
    [
      'done without a time',
      {},
      { conditions: done.conditions },
      [
        'status.completionTime: Required value: completionTime is required for Complete jobs',
        'status.startTime: Required value: startTime is required for finished job',
      ],
    ],
    [
      'done and failed',
      { startTime },
      { ...done, conditions: [...done.conditions, condition('Failed'), condition('FailureTarget')] },
      [
        'status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions',
        'status.conditions: Invalid value: cannot set Complete=True and FailureTarget=true conditions',
        'status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and Failed=true conditions',
        'status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and FailureTarget=true conditions',
      ],
    ],
    [
      'done at once',
      { startTime },
      { startTime, completionTime, conditions: [condition('Complete')] },
      ['status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition'],
    ],
    [
      'done before it began',
      { startTime: completionTime },
      { ...done, startTime: completionTime, completionTime: startTime },
      [`status.completionTime: Invalid value: "${startTime}": must be equal to or after \`startTime\``],
    ],
    [
      'done with pods left',
      { startTime },
      { ...done, active: 1, terminating: 1 },
      [
        'status.active: Invalid value: 1: active>0 is invalid for finished job',
        'status.terminating: Invalid value: 1: terminating>0 is invalid for finished job',
      ],
    ],
    [
      'undone',
      done,
      { startTime },
      [
        'status.conditions: Invalid value: cannot disable the terminal Complete=True condition',
        'status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition',
      ],
    ],
    ['fewer failures', { failed: 2 }, { failed: 1 }, ['status.failed: Invalid value: 1: cannot decrease the failed counter']],
    ['more ready than there are', {}, { active: 1, ready: 2 }, ['status.ready: Invalid value: 2: cannot set more ready pods than active']],
    [
      'indexes of a job without any',
      {},
      { completedIndexes: '0' },
      ['status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode'],
    ],
    ['another start', { startTime }, {}, ['status.startTime: Invalid value: null: field is immutable for unsuspended job once set']],
    [
      'counted twice',
      {},
      { uncountedTerminatedPods: { succeeded: ['x', ''], failed: ['x'] } },
      [
        'status.uncountedTerminatedPods.succeeded[1]: Invalid value: "": must not be empty',
        'status.uncountedTerminatedPods.failed[0]: Duplicate value: "x"',
      ],
    ],
  ]
  const base = stored({ completions: 3 })
  for (const [name, before, status, errors] of cases) {
    assert.deepEqual(
      tryUpdate(jobResource, { ...base, status: before }, { ...base, status }, { ...on, subresource: 'status' }).errors,
      errors,
      name,
    )
  }
})

test('an index is either completed or failed', () => {
  const base = stored({ completionMode: 'Indexed', completions: 9, backoffLimitPerIndex: 1 })
  const write = (status: V1JobStatus) => tryUpdate(jobResource, base, { ...base, status }, { ...on, subresource: 'status' }).errors
  assert.deepEqual(write({ completedIndexes: '0-3,5', failedIndexes: '4,6-8' }), [])
  assert.deepEqual(write({ completedIndexes: '0-3,5', failedIndexes: '3-4' }), [
    'status.failedIndexes: Invalid value: "3-4": failedIndexes and completedIndexes overlap at index: 3',
  ])
  assert.deepEqual(write({ completedIndexes: '3,1' }), [
    'status.completedIndexes: Invalid value: "3,1": error parsing completedIndexes: non-increasing order, previous: 3, current: 1',
  ])
})

test('a row tells how a job is doing', () => {
  const row = (status: V1JobStatus, spec: Partial<V1JobSpec> = {}) =>
    tryRow(jobResource, { ...stored(spec), status }, Date.parse(completionTime))
  assert.deepEqual([row(done)['Status'], row(done)['Duration'], row({ succeeded: 1 })['Completions']], ['Complete', '60m', '1/1'])
  assert.equal(row({ conditions: [condition('Suspended')] })['Status'], 'Suspended')
  assert.equal(row({}, { parallelism: 4 })['Completions'], '0/1 of 4')
})
