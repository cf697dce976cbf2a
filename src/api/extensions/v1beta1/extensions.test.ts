import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentResource as deploymentV1 } from '#api/apps/v1/deployment.ts'
import type { V1DaemonSet, V1Deployment } from '#api/apps/v1/types.gen.ts'
import { petSetResource } from '#api/apps/v1alpha1/pet-set.ts'
import { deploymentResource as deploymentOfApps } from '#api/apps/v1beta1/deployment.ts'
import { statefulSetResource } from '#api/apps/v1beta1/stateful-set.ts'
import type { V1Job } from '#api/batch/v1/types.gen.ts'
import { daemonSetResource } from '#api/extensions/v1beta1/daemon-set.ts'
import { deploymentResource } from '#api/extensions/v1beta1/deployment.ts'
import { horizontalPodAutoscalerResource } from '#api/extensions/v1beta1/horizontal-pod-autoscaler.ts'
import { jobResource } from '#api/extensions/v1beta1/job.ts'
import { replicaSetResource } from '#api/extensions/v1beta1/replica-set.ts'
import type { V1beta1DaemonSet, V1beta1Deployment } from '#api/extensions/v1beta1/types.gen.ts'
import { tryCreateThrough, tryUpdate } from '#api/testing/try-kind.ts'

const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
const metadata = { name: 'a', namespace: 'default' }
const deployment = (spec: object = {}): V1beta1Deployment => ({ metadata, spec: { template, ...spec } })

test('a workload selects the pods of its template, and has their labels', () => {
  for (const kind of [deploymentResource, replicaSetResource, daemonSetResource, deploymentOfApps] as (typeof deploymentResource)[]) {
    const { shown, errors } = tryCreateThrough(kind, deployment())
    assert.deepEqual(errors, [], kind.kind)
    assert.deepEqual(shown.spec.selector, { matchLabels: { app: 'web' } })
    assert.deepEqual(shown.metadata.labels, { app: 'web' })
  }
  const own = tryCreateThrough(deploymentResource, { ...deployment(), metadata: { ...metadata, labels: { mine: 'yes' } } })
  assert.deepEqual(own.shown.metadata.labels, { mine: 'yes' })
})

test('a deployment of the first versions is filled in as it was then', () => {
  const { strategy, revisionHistoryLimit, progressDeadlineSeconds } = tryCreateThrough(deploymentResource, deployment()).shown.spec
  assert.deepEqual(
    [strategy, revisionHistoryLimit, progressDeadlineSeconds],
    [{ type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 1 } }, 2147483647, 2147483647],
  )
  const later = tryCreateThrough(deploymentOfApps, deployment()).shown.spec
  assert.deepEqual([later.strategy?.rollingUpdate?.maxSurge, later.revisionHistoryLimit, later.progressDeadlineSeconds], ['25%', 2, 600])
})

test('the wish to roll back is an annotation of the stored deployment', () => {
  const { object, shown } = tryCreateThrough<V1beta1Deployment, V1Deployment>(
    deploymentResource,
    deployment({ rollbackTo: { revision: 7 } }),
  )
  assert.deepEqual(object.metadata.annotations, { 'deprecated.deployment.rollback.to': '7' })
  assert.deepEqual([shown.spec.rollbackTo, shown.metadata.annotations], [{ revision: 7 }, undefined])
})

test('the selector of a deployment may change through the first versions only', () => {
  const labels = { app: 'web', more: 'yes' }
  const prev = tryCreateThrough<V1beta1Deployment, V1Deployment>(deploymentResource, deployment()).object
  const next = { ...prev, spec: { ...prev.spec, selector: { matchLabels: labels }, template: { ...template, metadata: { labels } } } }
  const errorsIn = (requestVersion: string) => tryUpdate(deploymentV1, prev, next, { requestVersion }).errors.length
  assert.deepEqual(['extensions/v1beta1', 'apps/v1beta1', 'apps/v1beta2', 'apps/v1'].map(errorsIn), [0, 0, 1, 1])
})

test('daemon pods are replaced when they are deleted, and templates are counted', () => {
  const { object, shown } = tryCreateThrough<V1beta1DaemonSet, V1DaemonSet>(daemonSetResource, { metadata, spec: { template } })
  assert.deepEqual(object.metadata.annotations, { 'deprecated.daemonset.template.generation': '1' })
  assert.deepEqual([shown.spec.templateGeneration, shown.spec.updateStrategy], [1, { type: 'OnDelete' }])
})

test('stateful sets and the pet sets before them wait for pods to be deleted', () => {
  const spec = { template, serviceName: 's' }
  for (const kind of [statefulSetResource, petSetResource]) {
    const { object, shown, errors } = tryCreateThrough(kind, { metadata, spec })
    assert.deepEqual(errors, [])
    assert.deepEqual([object.kind, object.apiVersion, shown.kind], ['StatefulSet', 'apps/v1', kind.kind])
    assert.deepEqual([shown.spec.updateStrategy, shown.spec.selector], [{ type: 'OnDelete' }, { matchLabels: { app: 'web' } }])
  }
})

test('a job selects the pods of its template unless it asks for a selector', () => {
  const pod = { ...template, spec: { ...template.spec, restartPolicy: 'Never' } }
  const asIs = tryCreateThrough<Parameters<NonNullable<typeof jobResource.defaults>>[0], V1Job>(jobResource, {
    metadata,
    spec: { template: pod },
  })
  assert.deepEqual([asIs.errors, asIs.object.spec.manualSelector, asIs.shown.spec.autoSelector], [[], true, undefined])
  assert.deepEqual(asIs.shown.spec.selector, { matchLabels: { app: 'web' } })
  const uid = { ...metadata, uid: 'u' }
  const asked = tryCreateThrough(jobResource, { metadata: uid, spec: { template: pod, autoSelector: true } })
  assert.deepEqual([asked.errors, asked.shown.spec.autoSelector], [[], true])
  assert.deepEqual(asked.shown.spec.selector, { matchLabels: { 'batch.kubernetes.io/controller-uid': 'u' } })
})

test('an autoscaler scales by CPU', () => {
  const scaleRef = { kind: 'Deployment', name: 'd', apiVersion: 'extensions/v1beta1', subresource: 'scale' }
  const { shown, errors } = tryCreateThrough(horizontalPodAutoscalerResource, { metadata, spec: { scaleRef, maxReplicas: 3 } })
  assert.deepEqual(errors, [])
  assert.deepEqual(shown.spec, { scaleRef, minReplicas: 1, maxReplicas: 3, cpuUtilization: { targetPercentage: 80 } })
  assert.equal(shown.metadata.annotations, undefined)
})
