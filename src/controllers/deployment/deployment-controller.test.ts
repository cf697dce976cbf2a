import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deployment, ReplicaSet } from '#api/apps/v1/kinds.gen.ts'
import type { V1Deployment } from '#api/apps/v1/types.gen.ts'
import { Event, Pod } from '#api/core/v1/kinds.gen.ts'
import { isComplete } from '#controllers/deployment/status.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const controllers = ['deployment', 'replicaset']

function aDeployment(name: string, replicas: number, spec: Partial<NonNullable<V1Deployment['spec']>> = {}): V1Deployment {
  return {
    metadata: { namespace: 'default', name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image: 'app:1' }] } },
      ...spec,
    },
  }
}

async function isRolledOut(cluster: FakeCluster, name: string): Promise<boolean> {
  const deployment = await cluster.get(Deployment, 'default', name)
  return isComplete(deployment, deployment.status ?? {})
}

const setImage = (image: string) => (deployment: V1Deployment) => {
  const container = deployment.spec?.template.spec?.containers[0]
  if (container) container.image = image
}

test('a new deployment gets one replica set with all its pods, and tells that it is available', async () => {
  await using cluster = await FakeCluster.start({ controllers })
  await cluster.create(Deployment, aDeployment('web', 3))
  await cluster.until(() => isRolledOut(cluster, 'web'))
  const deployment = await cluster.get(Deployment, 'default', 'web')
  const [set] = await cluster.list(ReplicaSet, 'default')
  const name = set?.metadata.name
  assert.equal(deployment.metadata.annotations?.['deployment.kubernetes.io/revision'], '1')
  await cluster.advance({ seconds: 5 })
  const conditions = (await cluster.get(Deployment, 'default', 'web')).status?.conditions?.map(({ type, status, reason, message }) => [
    type,
    status,
    reason,
    message,
  ])
  assert.deepEqual(conditions, [
    ['Available', 'True', 'MinimumReplicasAvailable', 'Deployment has minimum availability.'],
    ['Progressing', 'True', 'NewReplicaSetAvailable', `ReplicaSet "${name}" has successfully progressed.`],
  ])
  const pods = await cluster.list(Pod, 'default')
  assert.equal(pods.length, 3)
  for (const { metadata } of pods) {
    assert.ok(metadata.name?.startsWith(`${name}-`))
    assert.deepEqual(metadata.ownerReferences, [
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', name, uid: set?.metadata.uid, controller: true, blockOwnerDeletion: true },
    ])
  }
  const events = await cluster.list(Event, 'default')
  assert.deepEqual(
    events.filter(({ involvedObject }) => involvedObject.kind === 'Deployment').map(({ reason, message }) => [reason, message]),
    [['ScalingReplicaSet', `Scaled up replica set ${name} from 0 to 3`]],
  )
  assert.equal(events.filter(({ reason }) => reason === 'SuccessfulCreate').length, 3)
})

const sizes = async (cluster: FakeCluster) =>
  (await cluster.list(ReplicaSet, 'default'))
    .sort((one, other) => revision(one) - revision(other))
    .map((set) => [revision(set), set.spec?.replicas ?? 0])

const revision = ({ metadata }: { metadata: { annotations?: { [name: string]: string } } }) =>
  Number(metadata.annotations?.['deployment.kubernetes.io/revision'])

test('a roll never has more pods than the surge allows, nor fewer available than it must', async () => {
  await using cluster = await FakeCluster.start({ controllers })
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 2, maxUnavailable: 1 } }
  await cluster.create(Deployment, aDeployment('web', 6, { strategy }))
  await cluster.until(() => isRolledOut(cluster, 'web'))
  await cluster.change(Deployment, 'default', 'web', setImage('app:2'))
  for (let step = 0; step < 200 && !(await isRolledOut(cluster, 'web')); step++) {
    await cluster.advance(100)
    const pods = (await cluster.list(Pod, 'default')).filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    const ready = pods.filter(({ status }) => status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'))
    assert.ok(pods.length <= 8, `${pods.length} pods`)
    assert.ok(ready.length >= 5, `${ready.length} ready`)
  }
  assert.ok(await isRolledOut(cluster, 'web'))
  assert.deepEqual(await sizes(cluster), [
    [1, 0],
    [2, 6],
  ])
})

test('a template changed amid a roll abandons the half-rolled set; an undo takes the old set up again under a new revision', async () => {
  await using cluster = await FakeCluster.start({ controllers })
  await cluster.create(Deployment, aDeployment('web', 4))
  await cluster.until(() => isRolledOut(cluster, 'web'))
  await cluster.change(Deployment, 'default', 'web', setImage('app:2'))
  await cluster.advance(1500)
  await cluster.change(Deployment, 'default', 'web', setImage('app:3'))
  await cluster.until(() => isRolledOut(cluster, 'web'))
  assert.deepEqual(await sizes(cluster), [
    [1, 0],
    [2, 0],
    [3, 4],
  ])
  await cluster.change(Deployment, 'default', 'web', setImage('app:1'))
  await cluster.until(() => isRolledOut(cluster, 'web'))
  assert.deepEqual(await sizes(cluster), [
    [2, 0],
    [3, 0],
    [4, 4],
  ])
  const set = (await cluster.list(ReplicaSet, 'default')).find((each) => revision(each) === 4)
  assert.equal(set?.metadata.annotations?.['deployment.kubernetes.io/revision-history'], '1')
  assert.equal(revision(await cluster.get(Deployment, 'default', 'web')), 4)
})

test('a roll that does not move is called stuck after its deadline, and recovers', async () => {
  await using cluster = await FakeCluster.start({
    controllers,
    fateOf: (pod) => (pod.spec.containers[0]?.image === 'app:broken' ? 'hangs' : 'runs'),
  })
  await cluster.create(Deployment, aDeployment('web', 4, { progressDeadlineSeconds: 60 }))
  await cluster.until(() => isRolledOut(cluster, 'web'))
  await cluster.change(Deployment, 'default', 'web', setImage('app:broken'))
  await cluster.advance({ seconds: 50 })
  const progressing = async () =>
    (await cluster.get(Deployment, 'default', 'web')).status?.conditions?.find(({ type }) => type === 'Progressing')
  assert.equal((await progressing())?.reason, 'ReplicaSetUpdated')
  await cluster.advance({ seconds: 20 })
  const stuck = await progressing()
  assert.deepEqual([stuck?.status, stuck?.reason], ['False', 'ProgressDeadlineExceeded'])
  assert.match(stuck?.message ?? '', /^ReplicaSet "web-\w+" has timed out progressing\.$/)
  // 25 % of 4: three stay, two of the new ones hang.
  assert.deepEqual(await sizes(cluster), [
    [1, 3],
    [2, 2],
  ])
  await cluster.change(Deployment, 'default', 'web', setImage('app:good'))
  await cluster.until(() => isRolledOut(cluster, 'web'))
  assert.equal((await progressing())?.reason, 'NewReplicaSetAvailable')
})

test('scaling amid a roll spreads the new pods over both sets', async () => {
  await using cluster = await FakeCluster.start({
    controllers,
    fateOf: (pod) => (pod.spec.containers[0]?.image === 'app:2' ? 'hangs' : 'runs'),
  })
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } }
  await cluster.create(Deployment, aDeployment('web', 10, { strategy }))
  await cluster.until(() => isRolledOut(cluster, 'web'))
  await cluster.change(Deployment, 'default', 'web', setImage('app:2'))
  await cluster.advance({ seconds: 20 })
  assert.deepEqual(await sizes(cluster), [
    [1, 8],
    [2, 5],
  ])
  await cluster.change(Deployment, 'default', 'web', ({ spec }) => {
    if (spec) spec.replicas = 15
  })
  await cluster.advance({ seconds: 20 })
  // 15 + 3 of surge are 5 more, in proportion to 8 and 5.
  assert.deepEqual(await sizes(cluster), [
    [1, 11],
    [2, 7],
  ])
})

test('a paused deployment scales but does not roll; it rolls when resumed', async () => {
  await using cluster = await FakeCluster.start({ controllers })
  await cluster.create(Deployment, aDeployment('web', 2))
  await cluster.until(() => isRolledOut(cluster, 'web'))
  await cluster.change(Deployment, 'default', 'web', (deployment) => {
    setImage('app:2')(deployment)
    if (deployment.spec) {
      deployment.spec.paused = true
      deployment.spec.replicas = 3
    }
  })
  await cluster.advance({ seconds: 10 })
  assert.deepEqual(await sizes(cluster), [[1, 3]])
  const paused = await cluster.get(Deployment, 'default', 'web')
  assert.equal(paused.status?.conditions?.find(({ type }) => type === 'Progressing')?.reason, 'DeploymentPaused')
  await cluster.change(Deployment, 'default', 'web', ({ spec }) => {
    if (spec) spec.paused = false
  })
  await cluster.until(() => isRolledOut(cluster, 'web'))
  assert.deepEqual(await sizes(cluster), [
    [1, 0],
    [2, 3],
  ])
})

test('recreate ends every old pod before it makes a new one', async () => {
  await using cluster = await FakeCluster.start({ controllers, endMs: 5000 })
  await cluster.create(Deployment, aDeployment('web', 3, { strategy: { type: 'Recreate' } }))
  await cluster.until(() => isRolledOut(cluster, 'web'))
  await cluster.change(Deployment, 'default', 'web', setImage('app:2'))
  for (let step = 0; step < 100 && !(await isRolledOut(cluster, 'web')); step++) {
    await cluster.advance(200)
    const images = new Set((await cluster.list(Pod, 'default')).map(({ spec }) => spec.containers[0]?.image))
    assert.ok(images.size <= 1, 'old and new pods were there together')
  }
  assert.ok(await isRolledOut(cluster, 'web'))
})

test('only so many old sets are kept as the history limit says', async () => {
  await using cluster = await FakeCluster.start({ controllers })
  await cluster.create(Deployment, aDeployment('web', 1, { revisionHistoryLimit: 1 }))
  for (const image of ['app:2', 'app:3', 'app:4']) {
    await cluster.until(() => isRolledOut(cluster, 'web'))
    await cluster.change(Deployment, 'default', 'web', setImage(image))
  }
  await cluster.until(() => isRolledOut(cluster, 'web'))
  await cluster.advance({ seconds: 5 })
  assert.deepEqual(await sizes(cluster), [
    [3, 0],
    [4, 1],
  ])
})

test('a set of another owner under the hashed name makes the deployment choose another hash', async () => {
  await using cluster = await FakeCluster.start({ controllers })
  await cluster.create(Deployment, aDeployment('web', 1))
  await cluster.until(() => isRolledOut(cluster, 'web'))
  const [set] = await cluster.list(ReplicaSet, 'default')
  await cluster.client.delete(Deployment, { namespace: 'default', name: 'web' })
  await cluster.advance({ seconds: 5 })
  await cluster.create(Deployment, { ...aDeployment('web', 1), metadata: { namespace: 'default', name: 'web' } })
  await cluster.until(() => isRolledOut(cluster, 'web'), 60_000)
  const again = await cluster.get(Deployment, 'default', 'web')
  assert.equal(again.status?.collisionCount, 1)
  assert.notEqual(
    (await cluster.list(ReplicaSet, 'default')).find(({ metadata }) => metadata.uid !== set?.metadata.uid)?.metadata.name,
    set?.metadata.name,
  )
})

test('revisions have 64 bits: one past what a double can tell is counted on exactly', async () => {
  await using cluster = await FakeCluster.start({ controllers })
  await cluster.create(Deployment, aDeployment('web', 1))
  await cluster.until(() => isRolledOut(cluster, 'web'))
  const [first] = await cluster.list(ReplicaSet, 'default')
  await cluster.change(ReplicaSet, 'default', first?.metadata.name ?? '', (set) => {
    set.metadata.annotations = { ...set.metadata.annotations, 'deployment.kubernetes.io/revision': '3546343826724305832' }
  })
  await cluster.change(Deployment, 'default', 'web', setImage('app:2'))
  await cluster.until(() => isRolledOut(cluster, 'web'))
  const { metadata: rolled } = await cluster.get(Deployment, 'default', 'web')
  assert.equal(rolled.annotations?.['deployment.kubernetes.io/revision'], '3546343826724305833')
})
