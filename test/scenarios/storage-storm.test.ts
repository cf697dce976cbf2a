/** Claims, pods and nodes come and go by chance while requests and drivers fail: volumes are never shared, lost or left behind. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Node, PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { StorageClass, VolumeAttachment } from '#api/storage/v1/kinds.gen.ts'
import { nodeFiles } from '#base/files.ts'
import { Lifecycle } from '#base/lifecycle.ts'
import { silentLogger } from '#base/log.ts'
import { type Random, seededRandom } from '#base/random.ts'
import type { VirtualClock } from '#base/virtual-clock.ts'
import { startScheduler } from '#cmd/up/scheduler.ts'
import { maySeveralNodesHave, uniqueNameOf } from '#controllers/attach-detach/attachable-volume.ts'
import { SimulatedVolumes, simulatedDriver } from '#controllers/simulated-volumes/simulated-volumes.ts'
import { DriverError } from '#controllers/volume-driver/driver-error.ts'
import { MountingNodes } from '#controllers/volume-driver/testing/mounting-nodes.ts'
import { aClaim } from '#controllers/volume-driver/testing/storage-objects.ts'
import type { VolumeDriver } from '#controllers/volume-driver/volume-driver.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'
import { type FaultRates, faultyTransport } from '#testing/faulty-transport.ts'

const seeds = [1, 2]
const steps = 60

const controllers = [
  ...['persistentvolume-binder', 'attachdetach', 'persistentvolume-expander', 'pvc-protection', 'pv-protection', 'ephemeral-volume'],
  ...['garbagecollector', 'podgc'],
]

/** The storage behind, which fails and forgets to answer by chance, and notes whatever it should never have been asked. */
class Witness {
  readonly storage: SimulatedVolumes
  readonly driver: VolumeDriver
  readonly wrongs: string[] = []
  inFlight = 0
  rates = { fails: 0.1, losesAnswer: 0.1 }
  nodes: MountingNodes | undefined

  constructor(clock: VirtualClock, random: Random) {
    const storage = new SimulatedVolumes({ clock })
    this.storage = storage
    const called = async <T>(act: () => Promise<T>): Promise<T> => {
      this.inFlight++
      try {
        await clock.sleep(random.int(4000))
        if (random.float() < this.rates.fails) throw new DriverError('final', 'by chance')
        const answer = await act()
        if (random.float() < this.rates.losesAnswer) throw new Error('the answer was lost')
        return answer
      } finally {
        this.inFlight--
      }
    }
    const never = new AbortController().signal
    this.driver = {
      name: simulatedDriver,
      provision: (request) => called(() => storage.provision(request, never)),
      expand: (request) => called(() => storage.expand(request, never)),
      delete: (volume) =>
        called(() => {
          const name = uniqueNameOf(volume) ?? ''
          if (storage.volumes.get(volume.spec.csi?.volumeHandle ?? '')?.nodes.size) this.wrongs.push(`${name} was deleted while attached`)
          for (const node of this.nodes?.names ?? []) {
            if (this.nodes?.isMountedAlive(name, node)) this.wrongs.push(`${name} was deleted while ${node} had it mounted`)
          }
          return storage.delete(volume, never)
        }),
      attach: (request) =>
        called(() => {
          const { nodes = new Set<string>() } = storage.volumes.get(request.volume.spec.csi?.volumeHandle ?? '') ?? {}
          const others = [...nodes].filter((each) => each !== request.nodeName)
          if (others.length > 0 && !maySeveralNodesHave(request.volume)) {
            this.wrongs.push(`${request.volume.metadata.name} was to be attached to ${request.nodeName} while ${others} had it`)
          }
          return storage.attach(request, never)
        }),
      detach: (request) =>
        called(() => {
          const name = uniqueNameOf(request.volume) ?? ''
          if (this.nodes?.isMountedAlive(name, request.nodeName))
            this.wrongs.push(`${name} was detached while ${request.nodeName} had it mounted`)
          return storage.detach(request, never)
        }),
    }
  }
}

for (const seed of seeds) {
  test(`seed ${seed}: no volume is bound twice, attached twice, deleted while used, or left behind`, { timeout: 240_000 }, async () => {
    const rates: FaultRates = { fails: 0.05, losesAnswer: 0.05, repeats: 0.03, delays: 0.1, cutsWatch: 0.02 }
    const chance = seededRandom(seed * 7919)
    let witness: Witness | undefined
    await using cluster = await FakeCluster.start({
      seed,
      controllers,
      withoutNodes: true,
      drivers: (clock) => {
        witness ??= new Witness(clock, seededRandom(seed))
        return [witness.driver]
      },
      through: (transport, parts) => faultyTransport(transport, parts, rates),
    })
    if (witness === undefined) throw new Error('the controllers did not start')
    const { client, clock, random, server } = cluster
    const lifecycle = new Lifecycle({ clock, logger: silentLogger })
    const scheduling = lifecycle.stage('scheduler', (stage) =>
      startScheduler(stage, server, { clock, random, files: nodeFiles, logger: silentLogger }),
    )
    await clock.advance(2000)
    await clock.during(scheduling)
    const nodes = new MountingNodes({ client, clock, names: ['n1', 'n2', 'n3'] })
    witness.nodes = nodes
    await nodes.start()
    const late = { volumeBindingMode: 'WaitForFirstConsumer' }
    for (const [name, more] of [['now', {}] as const, ['late', late] as const]) {
      await client.create(StorageClass, { metadata: { name }, provisioner: simulatedDriver, allowVolumeExpansion: true, ...more })
    }
    const anyOf = <T>(list: readonly T[]): T | undefined => list[chance.int(Math.max(1, list.length))]
    const gone = (error: unknown) => {
      if (!isNotFound(error)) throw error
    }
    let made = 0
    const actions: Record<string, () => Promise<unknown>> = {
      async claim() {
        const accessModes = chance.float() < 0.2 ? ['ReadWriteMany'] : ['ReadWriteOnce']
        const storageClassName = chance.float() < 0.5 ? 'now' : 'late'
        await client.create(PersistentVolumeClaim, aClaim(`c${made++}`, { storageClassName, accessModes }, '1Gi'))
      },
      async pod() {
        const claim = anyOf(await cluster.list(PersistentVolumeClaim, 'default'))
        if (claim === undefined) return
        const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: claim.metadata.name ?? '' } }]
        const spec = { volumes, containers: [{ name: 'main', image: 'a' }], terminationGracePeriodSeconds: 1 }
        await client.create(Pod, { metadata: { namespace: 'default', name: `p${made++}` }, spec })
      },
      async endPod() {
        const pod = anyOf(await cluster.list(Pod, 'default'))
        if (pod !== undefined) await client.delete(Pod, pod.metadata).catch(gone)
      },
      async endClaim() {
        const claim = anyOf(await cluster.list(PersistentVolumeClaim, 'default'))
        if (claim !== undefined) await client.delete(PersistentVolumeClaim, claim.metadata).catch(gone)
      },
      async grow() {
        const claim = anyOf((await cluster.list(PersistentVolumeClaim, 'default')).filter(({ status }) => status?.phase === 'Bound'))
        if (claim === undefined) return
        const size = Number.parseInt(claim.spec.resources?.requests?.['storage'] ?? '1', 10) + 1
        const patch = { spec: { resources: { requests: { storage: `${size}Gi` } } } }
        await client.patch(PersistentVolumeClaim, claim.metadata, patch, { type: 'merge' }).catch(gone)
      },
      async loseNode() {
        const name = anyOf(nodes.names.filter((each) => !nodes.lost.has(each)))
        if (name === undefined || nodes.lost.size >= 2) return
        await nodes.lose(name)
        if (chance.float() < 0.5) {
          const taints = [{ key: 'node.kubernetes.io/out-of-service', value: 'x', effect: 'NoExecute' }]
          await client.patch(Node, { name }, { spec: { taints } }, { type: 'merge' })
        }
        // As taint eviction and the garbage of pods would, in time.
        for (const pod of await cluster.list(Pod, 'default')) {
          if (pod.spec.nodeName === name) await client.delete(Pod, pod.metadata, { gracePeriodSeconds: 0 }).catch(gone)
        }
      },
      async findNode() {
        const name = anyOf([...nodes.lost])
        if (name === undefined) return
        // A node comes back as one that has rebooted: whoever was lost has nothing attached by then, or nothing mounted.
        await client.patch(Node, { name }, { spec: { taints: null } }, { type: 'merge' })
        await nodes.findAgain(name)
      },
      async restart() {
        // Whatever a provisioner was asked for while it is killed, for a claim that is gone too, nobody would know of.
        if (witness?.inFlight !== 0) return
        await cluster.stopControllers()
        await cluster.startControllers()
      },
    }
    const weights = [
      'claim',
      'claim',
      'claim',
      'pod',
      'pod',
      'pod',
      'endPod',
      'endPod',
      'endClaim',
      'grow',
      'loseNode',
      'findNode',
      'restart',
    ]
    const pass = async (seconds: number) => {
      for (let second = 0; second < seconds; second += 2) {
        await clock.advance(2000)
        await nodes.work()
      }
    }
    for (let step = 0; step < steps; step++) {
      await actions[anyOf(weights) ?? '']?.()
      await pass(2 + chance.int(12))
      await assertBindings(cluster, `seed ${seed}, step ${step}`)
    }
    // The storm passes, and everybody goes.
    Object.assign(rates, { fails: 0, losesAnswer: 0, repeats: 0, delays: 0, cutsWatch: 0 })
    Object.assign(witness.rates, { fails: 0, losesAnswer: 0 })
    for (const name of [...nodes.lost]) {
      await client.patch(Node, { name }, { spec: { taints: null } }, { type: 'merge' })
      await nodes.findAgain(name)
    }
    await pass(60)
    for (const pod of await cluster.list(Pod, 'default')) await client.delete(Pod, pod.metadata).catch(gone)
    for (const claim of await cluster.list(PersistentVolumeClaim, 'default'))
      await client.delete(PersistentVolumeClaim, claim.metadata).catch(gone)
    for (let round = 0; round < 40 && (await cluster.list(PersistentVolume)).length > 0; round++) await pass(60)
    assert.deepEqual(witness.wrongs, [], `seed ${seed}`)
    const names = (list: readonly { metadata: { name?: string } }[]) => list.map(({ metadata }) => metadata.name)
    assert.deepEqual(names(await cluster.list(Pod, 'default')), [], `seed ${seed}: pods`)
    assert.deepEqual(names(await cluster.list(PersistentVolumeClaim, 'default')), [], `seed ${seed}: claims`)
    assert.deepEqual(names(await cluster.list(PersistentVolume)), [], `seed ${seed}: volumes`)
    assert.deepEqual(names(await cluster.list(VolumeAttachment)), [], `seed ${seed}: attachments`)
    assert.deepEqual([...witness.storage.volumes.keys()], [], `seed ${seed}: what is behind volumes`)
    for (const node of await cluster.list(Node))
      assert.deepEqual(node.status?.volumesAttached ?? [], [], `seed ${seed}: ${node.metadata.name}`)
    const stopped = lifecycle.stop()
    await clock.advance(2000)
    await clock.during(stopped)
  })
}

async function assertBindings(cluster: FakeCluster, when: string): Promise<void> {
  const claims = await cluster.list(PersistentVolumeClaim, 'default')
  const volumes = new Map((await cluster.list(PersistentVolume)).map((volume) => [volume.metadata.name, volume]))
  const owners = new Map<string, string>()
  for (const { metadata, spec, status } of claims) {
    if (!spec.volumeName || status?.phase === 'Lost') continue
    const other = owners.get(spec.volumeName)
    assert.equal(other, undefined, `${when}: ${spec.volumeName} is ${other}’s and ${metadata.name}’s`)
    owners.set(spec.volumeName, metadata.name ?? '')
    const volume = volumes.get(spec.volumeName)
    assert.ok(volume, `${when}: ${metadata.name} has no volume ${spec.volumeName}`)
    assert.equal(volume.spec.claimRef?.uid, metadata.uid, `${when}: ${spec.volumeName} is not bound to ${metadata.name}`)
  }
}
