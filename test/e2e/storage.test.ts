/** Claims in real containers, of the class that every cluster has: what was written is there, whoever is killed. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import { whyNoContainers } from '../support/containerd.ts'
import { startDockerRegistry, whyNoRegistry } from '../support/docker-registry.ts'
import { installedKubectls, type Kubectl } from '../support/kubectl.ts'
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts'
import { seesImages, seesVolumes, storageManifest } from './storage/volume-table.ts'

const newest = installedKubectls().at(-1)
const whyNot = whyNoContainers() || (newest === undefined ? 'kubectl is not installed' : false)
const cannotLoop = spawnSync('losetup', ['-f']).status === 0 ? false : 'no loop devices here'

describe('claims on a real node', { skip: whyNot, timeout: 600_000 }, () => {
  let cluster: RealCluster
  let kubectl: Kubectl

  before(async () => {
    cluster = await startRealCluster()
    kubectl = cluster.kubectlAt(newest?.path ?? '')
    ok(['wait', '--for=create', 'serviceaccount/default', '--timeout=60s'])
  })
  after(async () => {
    await cluster?.[Symbol.asyncDispose]()
  })

  const ok = (args: readonly string[], input?: string): string => {
    const { exitCode, stdout, stderr } = kubectl.run(args, input === undefined ? {} : { input })
    const why = () => `${stderr}\n${kubectl.run(['get', 'events,pods,pvc,pv']).stdout}\n${cluster.process.output()}`
    assert.equal(exitCode, 0, exitCode === 0 ? '' : `kubectl ${args.join(' ')}: ${why()}`)
    return stdout
  }
  const names = ['db-0', 'db-1', 'db-2']
  /** What the API says of a pod may be older than the node that has just been started again: containers are asked until they answer. */
  const startsOf = (pod: string, least = 1): string[] => {
    const deadlineMs = Date.now() + 90_000
    for (;;) {
      const { exitCode, stdout } = kubectl.run(['exec', pod, '--', 'cat', '/data/starts'])
      const starts = stdout.trim().split('\n')
      if ((exitCode === 0 && starts.length >= least) || Date.now() >= deadlineMs) return starts
    }
  }
  /** Every start of every pod so far is in its own volume, and none of another's. */
  const holdsStarts = (least: Readonly<Record<string, number>>) => {
    for (const name of names) {
      const starts = startsOf(name, least[name])
      assert.deepEqual([...new Set(starts)], [name])
      assert.ok(starts.length >= (least[name] ?? 1), `${name} has ${starts.length} starts, should have ${least[name]}`)
    }
  }
  const counts = () => Object.fromEntries(names.map((name) => [name, startsOf(name).length]))

  test('a StatefulSet with claims runs at once, and its data outlives its pods', () => {
    ok(['apply', '-f', '-'], storageManifest('claims.yaml'))
    ok(['rollout', 'status', 'sts/db', '--timeout=90s'])
    holdsStarts({})
    ok(['delete', 'pod', 'db-1', '--force', '--grace-period=0', '--wait=true', '--timeout=60s'])
    holdsStarts({ 'db-1': 2 })
  })

  test('it outlives the cluster that is killed, the containerd that is killed, and a cluster that was taken down', async () => {
    const before = counts()
    await cluster.kill()
    await cluster.start()
    holdsStarts(before)
    const [pidFile = ''] = namedBelow(cluster.dataDir, 'containerd.pid')
    process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGKILL')
    ok(['delete', 'pod', 'db-0', '--timeout=90s'])
    holdsStarts({ ...before, 'db-0': (before['db-0'] ?? 0) + 1 })
    const last = counts()
    assert.equal(cluster.run('down', '--pods').status, 0)
    await cluster.start()
    holdsStarts(Object.fromEntries(names.map((name) => [name, (last[name] ?? 0) + 1])))
    ok(['rollout', 'status', 'sts/db', '--timeout=90s'])
  })

  test('snapshots, clones, disks, raw disks, images and claims of a pod of its own', { skip: cannotLoop }, () => seesVolumes(ok))

  test('images of a registry as volumes', { skip: whyNoRegistry() }, async () => {
    await using registry = await startDockerRegistry()
    await seesImages(ok, registry)
  })

  test('what is deleted leaves nothing behind', () => {
    ok(['delete', 'pod/reader', 'sts/db', 'volumesnapshot/taken', '--ignore-not-found', '--timeout=60s'])
    ok(['delete', 'pvc', '--all', '--timeout=60s'])
    const deadlineMs = Date.now() + 90_000
    while ((ok(['get', 'pv', '-o', 'name']) !== '' || storedBelow(cluster.dataDir).length > 0) && Date.now() < deadlineMs);
    const { items } = JSON.parse(ok(['get', 'pvc', '-o', 'json'])) as { items: V1PersistentVolumeClaim[] }
    assert.deepEqual(items, [])
    assert.deepEqual(storedBelow(cluster.dataDir), [])
  })
})

/** Volumes and snapshots that nodes still have. */
function storedBelow(directory: string): string[] {
  const storage = namedBelow(directory, 'local-storage')
  assert.ok(storage.length > 0)
  return storage.flatMap((place) => ['volumes', 'snapshots'].flatMap((kind) => listed(join(place, kind))))
}

function namedBelow(directory: string, name: string): string[] {
  const places = [directory, ...listed(join(directory, 'nodes')).map((node) => join(directory, 'nodes', node))]
  return places.flatMap((place) => ['containerd', 'kubelet', ''].map((part) => join(place, part, name))).filter((path) => existsSync(path))
}

function listed(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}
