/** The kinds of volumes that a node gives to containers, as they see them: the same over every runtime. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { V1Pod, V1Volume } from '#api/core/v1/types.gen.ts'
import { systemClock } from '#base/clock.ts'
import { writeTar } from '#wire/tar.ts'
import { type DockerRegistry, digestOf } from '../../support/docker-registry.ts'

/** Runs kubectl, and fails where it does. */
export type Ok = (args: readonly string[], input?: string) => string

export const storageManifest = (name: string): string => readFileSync(join(import.meta.dirname, name), 'utf8')

/** Events and figures come some time after what they tell of. */
async function shows(ask: () => string, expected: RegExp): Promise<void> {
  for (let tries = 0; !expected.test(ask()) && tries < 240; tries++) await systemClock.sleep(500)
  assert.match(ask(), expected)
}

/** Snapshots, clones, disks, raw disks, an image, and a claim of the pod's own: of the claim `data-db-0`, in a pod `reader`. */
export async function seesVolumes(ok: Ok): Promise<void> {
  const snapshot = { apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshot', metadata: { name: 'taken' } }
  ok(['wait', '--for=condition=Established', 'crd/volumesnapshots.snapshot.storage.k8s.io', '--timeout=120s'])
  ok(['apply', '-f', '-'], JSON.stringify({ ...snapshot, spec: { source: { persistentVolumeClaimName: 'data-db-0' } } }))
  ok(['wait', '--for=jsonpath={.status.readyToUse}=true', 'volumesnapshot/taken', '--timeout=120s'])
  ok(['apply', '-f', '-'], storageManifest('copies.yaml'))
  ok(['wait', '--for=condition=Ready', 'pod/reader', '--timeout=180s'])
  const seen = (script: string) => ok(['exec', 'reader', '--', 'sh', '-c', script])
  assert.match(seen('cat /restored/starts'), /^db-0\n/)
  assert.match(seen('cat /clone/starts'), /^db-0\n/)
  assert.match(seen('touch /clone/x 2>&1; true'), /Read-only file system/)
  assert.match(seen('ls /image/bin/busybox; touch /image/x 2>&1; true'), /^\/image\/bin\/busybox\n.*Read-only file system/)
  assert.equal(seen('echo here > /scratch/file; cat /scratch/file'), 'here\n')
  assert.equal(seen('stat -c %g /small'), '4000\n')
  // A disk that is full is full for its own pod alone.
  assert.match(seen('dd if=/dev/zero of=/small/full bs=1M count=64 2>&1; true'), /No space left on device/)
  assert.equal(seen('printf raw > /dev/raw; head -c 3 /dev/raw'), 'raw')
  ok(['patch', 'pvc', 'restored', '-p', '{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}'])
  ok(['wait', '--for=jsonpath={.status.capacity.storage}=2Gi', 'pvc/restored', '--timeout=180s'])
  const node = ok(['get', 'nodes', '-o', 'jsonpath={.items[0].metadata.name}'])
  const stats = () => ok(['get', '--raw', `/api/v1/nodes/${node}/proxy/metrics`])
  await shows(stats, /^kubelet_volume_stats_used_bytes\{namespace="default",persistentvolumeclaim="small"\} [1-9]/m)
}

const layerOf = (text: string) => {
  const tar = writeTar([
    { path: 'part/', kind: 'directory' },
    { path: 'part/file', content: Buffer.from(text) },
    { path: 'top', content: Buffer.from(text) },
  ])
  return { bytes: tar, diffId: digestOf(tar), mediaType: 'application/vnd.oci.image.layer.v1.tar' }
}

const podWith = (name: string, image: NonNullable<V1Volume['image']>): V1Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { shows: 'image' } },
  spec: {
    terminationGracePeriodSeconds: 0,
    volumes: [{ name: 'image', image }],
    containers: [
      {
        ...{ name: 'main', image: 'typernetes.test/busybox:1', command: ['sh', '-c', 'while true; do sleep 1; done'] },
        volumeMounts: [
          { name: 'image', mountPath: '/whole' },
          { name: 'image', mountPath: '/part', subPath: 'part' },
        ],
      },
    ],
  },
})

/** Images of a registry as volumes: whole and in part, read-only, pulled as their policy says; one that is not there is told of. */
export async function seesImages(ok: Ok, registry: DockerRegistry): Promise<void> {
  const reference = `${registry.host}/team/data:1`
  await registry.push('team/data', '1', [layerOf('first')])
  const pods = [
    podWith('whole', { reference, pullPolicy: 'IfNotPresent' }),
    podWith('missing', { reference: `${registry.host}/team/none:1` }),
    podWith('never', { reference: `${registry.host}/team/never:1`, pullPolicy: 'Never' }),
  ]
  const create = (...created: V1Pod[]) => ok(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: created }))
  const waiting = '.status.containerStatuses[0].state.waiting.reason'
  const ready = (...names: string[]) => ok(['wait', '--for=condition=Ready', ...names.map((name) => `pod/${name}`), '--timeout=120s'])
  const shown = (name: string) => ok(['exec', name, '--', 'cat', '/whole/top', '/part/file'])
  create(...pods)
  ready('whole')
  assert.equal(shown('whole'), 'firstfirst')
  assert.match(ok(['exec', 'whole', '--', 'sh', '-c', 'touch /whole/x 2>&1; touch /part/x 2>&1; true']), /(.*Read-only file system\n?){2}/)
  ok(['wait', `--for=jsonpath={${waiting}}=ImagePullBackOff`, 'pod/missing', '--timeout=120s'])
  ok(['wait', `--for=jsonpath={${waiting}}=ErrImageNeverPull`, 'pod/never', '--timeout=120s'])
  const events = (name: string) => () =>
    ok(['get', 'events', '--field-selector', `involvedObject.name=${name},type=Warning`, '-o', 'jsonpath={.items[*].message}'])
  await shows(events('missing'), /Failed to pull image "127\.0\.0\.1:\d+\/team\/none:1"/)
  await shows(events('never'), /Container image "127\.0\.0\.1:\d+\/team\/never:1" is not present with pull policy of Never/)
  await registry.push('team/data', '1', [layerOf('second')])
  create(podWith('kept', { reference, pullPolicy: 'IfNotPresent' }), podWith('fetched', { reference, pullPolicy: 'Always' }))
  ready('kept', 'fetched')
  // Whoever asks anew gets what is there now; who does not may have either, by who came first.
  assert.equal(shown('fetched'), 'secondsecond')
  assert.match(shown('kept'), /^(firstfirst|secondsecond)$/)
  assert.equal(shown('whole'), 'firstfirst')
  ok(['delete', 'pod', '-l', 'shows=image', '--timeout=120s'])
}
