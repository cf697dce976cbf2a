import assert from 'node:assert/strict'
import { test } from 'node:test'
import { controllerRevisionResource } from '#api/apps/v1/controller-revision.ts'
import { daemonSetResource } from '#api/apps/v1/daemon-set.ts'
import { deploymentResource } from '#api/apps/v1/deployment.ts'
import { replicaSetResource } from '#api/apps/v1/replica-set.ts'
import { statefulSetResource } from '#api/apps/v1/stateful-set.ts'
import type {
  V1ControllerRevision,
  V1DaemonSet,
  V1DaemonSetSpec,
  V1Deployment,
  V1DeploymentSpec,
  V1DeploymentStatus,
  V1ReplicaSet,
  V1StatefulSet,
  V1StatefulSetSpec,
  V1StatefulSetStatus,
} from '#api/apps/v1/types.gen.ts'
import type { V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'
import { type Tried, tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'
import { defined } from '#base/defined.ts'

const metadata = { name: 'a', namespace: 'default', uid: 'u', resourceVersion: '1', generation: 1 }
const selector = { matchLabels: { app: 'a' } }
const template: V1PodTemplateSpec = { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', image: 'nginx' }] } }
const percentError =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"

const deployment = (spec: Partial<V1DeploymentSpec> = {}): V1Deployment => ({ metadata, spec: { selector, template, ...spec } })
const statefulSet = (spec: Partial<V1StatefulSetSpec> = {}): V1StatefulSet => ({ metadata, spec: { selector, template, ...spec } })
const daemonSet = (spec: Partial<V1DaemonSetSpec> = {}): V1DaemonSet => ({ metadata, spec: { selector, template, ...spec } })
const stored = <T>({ object, errors }: Tried<T>): T => {
  assert.deepEqual(errors, [])
  return object
}

test('deployments are validated in the words clients know', () => {
  const rolling = (rollingUpdate: object) => ({ strategy: { type: 'RollingUpdate', rollingUpdate } })
  const cases: [string, Partial<V1DeploymentSpec>, string[]][] = [
    ['the smallest one', {}, []],
    ['two percentages', rolling({ maxSurge: '50%', maxUnavailable: '100%' }), []],
    ['a negative number of pods', { replicas: -1 }, ['spec.replicas: Invalid value: -1: must be greater than or equal to 0']],
    ['a selector of nothing', { selector: {} }, ['spec.selector: Invalid value: {}: empty selector is invalid for deployment']],
    [
      'another selector',
      { selector: { matchLabels: { app: 'b' } } },
      ['spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`'],
    ],
    [
      'a selector that cannot be used',
      { selector: { matchExpressions: [{ key: 'a', operator: 'Near' }] } },
      [
        'spec.selector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator',
        'spec.selector: Invalid value: {"matchExpressions":[{"key":"a","operator":"Near"}]}: invalid label selector',
      ],
    ],
    [
      'no progress',
      rolling({ maxSurge: 0, maxUnavailable: '0%' }),
      ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0'],
    ],
    ['a strange number', rolling({ maxSurge: 'lots' }), [`spec.strategy.rollingUpdate.maxSurge: Invalid value: "lots": ${percentError}`]],
    [
      'more than all',
      rolling({ maxUnavailable: '101%' }),
      ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
    ],
    [
      'an unknown strategy',
      { strategy: { type: 'Nope' } },
      ['spec.strategy: Unsupported value: {"Type":"Nope","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"'],
    ],
    [
      'numbers for a strategy without any',
      { strategy: { type: 'Recreate', rollingUpdate: {} } },
      ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
    ],
    [
      'a deadline before pods can be ready',
      { minReadySeconds: 5, progressDeadlineSeconds: 5 },
      ['spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds'],
    ],
    [
      'pods that end',
      {
        template: { ...template, spec: { containers: [{ name: 'c', image: 'nginx' }], restartPolicy: 'Never', activeDeadlineSeconds: 3 } },
      },
      [
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
        'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported',
      ],
    ],
  ]
  for (const [name, spec, errors] of cases) assert.deepEqual(tryCreate(deploymentResource, deployment(spec)).errors, errors, name)
})

test('a deployment gets a rolling update of a quarter of its pods', () => {
  const { spec } = tryCreate(deploymentResource, deployment()).object
  assert.deepEqual(spec.strategy, { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } })
  assert.deepEqual([spec.replicas, spec.revisionHistoryLimit, spec.progressDeadlineSeconds], [1, 10, 600])
})

test('a deployment whose name has a dot is warned of', () => {
  const { warnings } = tryCreate(deploymentResource, { ...deployment(), metadata: { ...metadata, name: 'a.b' } })
  assert.deepEqual(warnings, [
    'metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]',
  ])
})

test('the selector of a deployment never changes', () => {
  const prev = stored(tryCreate(deploymentResource, deployment()))
  const next = deployment({
    selector: { matchLabels: { app: 'a', x: 'y' } },
    template: { ...template, metadata: { labels: { app: 'a', x: 'y' } } },
  })
  assert.deepEqual(tryUpdate(deploymentResource, prev, next).errors, [
    'spec.selector: Invalid value: {"matchLabels":{"app":"a","x":"y"}}: field is immutable',
  ])
})

test('annotations count as changes of a deployment, because replica sets copy them', () => {
  const { generation } = deploymentResource
  assert.ok(typeof generation === 'function')
  const annotated = { ...deployment(), metadata: { ...metadata, annotations: { a: 'b' } } }
  assert.equal(generation(annotated, deployment()), true)
  assert.equal(generation(deployment(), deployment()), false)
})

test('a write to the status of a deployment changes nothing else, and must be plausible', () => {
  const prev = { ...stored(tryCreate(deploymentResource, deployment())), status: { collisionCount: 2 } }
  const write = (status: V1DeploymentStatus) =>
    tryUpdate(deploymentResource, prev, { ...deployment({ replicas: 7 }), status }, { subresource: 'status', isEnabled: () => true })
  assert.equal(write({ replicas: 3, collisionCount: 2 }).object.spec.replicas, 1)
  const cases: [V1DeploymentStatus, string[]][] = [
    [{ replicas: 3, readyReplicas: 2, availableReplicas: 2, collisionCount: 2 }, []],
    [{ unavailableReplicas: -1, collisionCount: 2 }, ['status.unavailableReplicas: Invalid value: -1: must be greater than or equal to 0']],
    [
      { replicas: 1, readyReplicas: 2, collisionCount: 2 },
      ['status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas'],
    ],
    [
      { replicas: 2, readyReplicas: 1, availableReplicas: 2, collisionCount: 2 },
      ['status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas'],
    ],
    [{ collisionCount: 1 }, ['status.collisionCount: Invalid value: 1: cannot be decremented']],
    [{}, ['status.collisionCount: Invalid value: 0: cannot be decremented']],
  ]
  for (const [status, errors] of cases) assert.deepEqual(write(status).errors, errors, JSON.stringify(status))
})

test('scale reads and writes the number of replicas', () => {
  for (const { subresources } of [deploymentResource, replicaSetResource, statefulSetResource]) {
    const scale = subresources?.scale
    assert.ok(scale)
    const object = { metadata, spec: { selector, template, replicas: 3 }, status: { replicas: 2 } }
    assert.deepEqual([scale.replicas(object), scale.statusReplicas(object), scale.selector(object)], [3, 2, 'app=a'])
    scale.setReplicas(object, 5)
    assert.equal(object.spec.replicas, 5)
  }
})

test('replica sets are validated as deployments are', () => {
  const replicaSet = (spec: object): V1ReplicaSet => ({ metadata, spec: { selector, template, ...spec } })
  assert.deepEqual(tryCreate(replicaSetResource, replicaSet({})).errors, [])
  assert.deepEqual(tryCreate(replicaSetResource, replicaSet({ selector: {}, replicas: -2, minReadySeconds: -1 })).errors, [
    'spec.replicas: Invalid value: -2: must be greater than or equal to 0',
    'spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0',
    'spec.selector: Invalid value: {}: empty selector is invalid for deployment',
  ])
})

test('stateful sets are validated in the words clients know', () => {
  const storage = { metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } }
  const mounting = (name: string): V1PodTemplateSpec => ({
    ...template,
    spec: { containers: [{ name: 'c', image: 'nginx', volumeMounts: [{ name, mountPath: '/d' }] }] },
  })
  const cases: [string, Partial<V1StatefulSetSpec>, string[]][] = [
    ['a claim is a volume of its pods', { volumeClaimTemplates: [storage], template: mounting('data') }, []],
    [
      'no such claim',
      { volumeClaimTemplates: [storage], template: mounting('nope') },
      ['spec.template.spec.containers[0].volumeMounts[0].name: Not found: "nope"'],
    ],
    [
      'an unknown order',
      { podManagementPolicy: 'Random' },
      ["spec.podManagementPolicy: Invalid value: \"Random\": must be 'OrderedReady' or 'Parallel'"],
    ],
    [
      'an unknown strategy',
      { updateStrategy: { type: 'Nope' } },
      ['spec.updateStrategy: Invalid value: {"Type":"Nope","RollingUpdate":null}: must be \'RollingUpdate\' or \'OnDelete\''],
    ],
    [
      'numbers for a strategy without any',
      { updateStrategy: { type: 'OnDelete', rollingUpdate: { partition: 1 } } },
      [
        'spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,"MaxUnavailable":null}: only allowed for updateStrategy \'RollingUpdate\'',
      ],
    ],
    [
      'an unknown fate of claims',
      { persistentVolumeClaimRetentionPolicy: { whenScaled: 'Nope' } },
      ['spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Nope": supported values: "Retain", "Delete"'],
    ],
    [
      'numbers from below zero',
      { ordinals: { start: -1 } },
      ['spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'no selector',
      { selector: undefined as never },
      [
        'spec.selector: Required value',
        'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`',
      ],
    ],
  ]
  for (const [name, spec, errors] of cases) assert.deepEqual(tryCreate(statefulSetResource, statefulSet(spec)).errors, errors, name)
})

test('claims in a stateful set are of their kind, and pending', () => {
  const [claim] =
    tryCreate(statefulSetResource, statefulSet({ volumeClaimTemplates: [{ metadata: { name: 'd' }, spec: {} }] })).object.spec
      .volumeClaimTemplates ?? []
  assert.deepEqual(
    [claim?.apiVersion, claim?.kind, claim?.spec?.volumeMode, claim?.status?.phase],
    ['v1', 'PersistentVolumeClaim', 'Filesystem', 'Pending'],
  )
})

test('maxUnavailable of a stateful set is there with its gate only', () => {
  const given = statefulSet({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 2 } } })
  assert.deepEqual(tryCreate(statefulSetResource, given).object.spec.updateStrategy?.rollingUpdate, { partition: 0 })
  const on = { isEnabled: () => true }
  assert.deepEqual(tryCreate(statefulSetResource, given, on).object.spec.updateStrategy?.rollingUpdate, { partition: 0, maxUnavailable: 2 })
  assert.equal(tryCreate(statefulSetResource, statefulSet(), on).object.spec.updateStrategy?.rollingUpdate?.maxUnavailable, 1)
})

test('little of a stateful set may change', () => {
  const prev = stored(tryCreate(statefulSetResource, statefulSet({ serviceName: 's' })))
  const forbidden =
    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
  const cases: [Partial<V1StatefulSetSpec>, string[]][] = [
    [{ serviceName: 's', replicas: 4, minReadySeconds: 2 }, []],
    [{ serviceName: 't' }, [forbidden]],
    [{ serviceName: 's', podManagementPolicy: 'Parallel' }, [forbidden]],
  ]
  for (const [spec, errors] of cases) assert.deepEqual(tryUpdate(statefulSetResource, prev, statefulSet(spec)).errors, errors)
})

test('a stateful set is validated by its status', () => {
  const status: V1StatefulSetStatus = { replicas: 1, readyReplicas: 0, availableReplicas: 1 }
  const { errors } = tryUpdate(statefulSetResource, statefulSet(), { ...statefulSet(), status }, { subresource: 'status' })
  assert.deepEqual(errors, ['status.availableReplicas: Invalid value: 1: cannot be greater than status.readyReplicas'])
})

test('a negative history of a stateful set is warned of', () => {
  assert.deepEqual(tryCreate(statefulSetResource, statefulSet({ revisionHistoryLimit: -1 })).warnings, [
    'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended',
  ])
})

test('daemon sets are validated in the words clients know', () => {
  const rolling = (rollingUpdate: object) => ({ updateStrategy: { type: 'RollingUpdate', rollingUpdate } })
  const cases: [string, Partial<V1DaemonSetSpec>, string[]][] = [
    ['the smallest one', {}, []],
    ['surge instead of gaps', rolling({ maxSurge: '10%', maxUnavailable: 0 }), []],
    [
      'both',
      rolling({ maxSurge: 1, maxUnavailable: 1 }),
      ['spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero'],
    ],
    [
      'neither',
      rolling({ maxSurge: 0, maxUnavailable: 0 }),
      ['spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0'],
    ],
    [
      'an unknown strategy',
      { updateStrategy: { type: 'Nope' } },
      ['spec.updateStrategy: Unsupported value: {"Type":"Nope","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"'],
    ],
    ['a selector of nothing', { selector: {} }, ['spec.selector: Invalid value: {}: empty selector is invalid for daemonset']],
  ]
  for (const [name, spec, errors] of cases) assert.deepEqual(tryCreate(daemonSetResource, daemonSet(spec)).errors, errors, name)
})

test('a daemon set counts versions of its template, whatever a writer says', () => {
  const name = 'deprecated.daemonset.template.generation'
  const prev = stored(tryCreate(daemonSetResource, daemonSet()))
  assert.equal(prev.metadata.annotations?.[name], '1')
  const lying = { ...daemonSet({ minReadySeconds: 1 }), metadata: { ...metadata, annotations: { [name]: '9' } } }
  assert.equal(tryUpdate(daemonSetResource, prev, lying).object.metadata.annotations?.[name], '1')
  const changed = daemonSet({ template: { ...template, spec: { containers: [{ name: 'c', image: 'other' }] } } })
  assert.equal(tryUpdate(daemonSetResource, prev, changed).object.metadata.annotations?.[name], '2')
  assert.equal(tryUpdate(daemonSetResource, prev, daemonSet(), { subresource: 'status' }).object.metadata.annotations?.[name], '1')
})

test('a revision holds an object, for ever', () => {
  const revision = (data: unknown): V1ControllerRevision => ({ metadata, revision: 1, ...defined({ data }) })
  const cases: [unknown, string[]][] = [
    [{ a: 'b' }, []],
    [undefined, ['data: Required value: data is mandatory']],
    [[1], ['data: Required value: data must be a valid JSON object']],
  ]
  for (const [data, errors] of cases) assert.deepEqual(tryCreate(controllerRevisionResource, revision(data)).errors, errors)
  assert.deepEqual(tryUpdate(controllerRevisionResource, revision({ a: 'b' }), { ...revision({ a: 'c' }), revision: -1 }).errors, [
    'revision: Invalid value: -1: must be greater than or equal to 0',
    'data: Invalid value: {"a":"c"}: field is immutable',
  ])
})

test('rows of workloads tell how far they are', () => {
  const object = { ...deployment({ replicas: 3 }), status: { readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1 } }
  assert.deepEqual(tryRow(deploymentResource, object), {
    Name: 'a',
    Ready: '1/3',
    'Up-to-date': 2,
    Available: 1,
    Age: '<unknown>',
    Containers: 'c',
    Images: 'nginx',
    Selector: 'app=a',
  })
  const owned = {
    metadata: { ...metadata, ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'u', controller: true }] },
    revision: 2,
  }
  assert.equal(tryRow(controllerRevisionResource, owned)['Controller'], 'daemonset.apps/d')
})
