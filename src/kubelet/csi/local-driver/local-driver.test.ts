import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { grpcCodes } from '#base/grpc.ts'
import { thisHost } from '#base/host.ts'
import { nodeMounts } from '#base/mounts.ts'
import { nodeProcesses } from '#base/processes.ts'
import { type LocalDriverOptions, localDriver } from '#kubelet/csi/local-driver/local-driver.ts'
import { cannotMount } from '#testing/test-node.ts'
import { callerOf } from '#wire/csi/csi-driver.ts'
import { accessModes, type CsiMethodName, type CsiRequest } from '#wire/csi/csi-types.ts'

const cannotLoop: string | false =
  cannotMount || ((await nodeProcesses.run('losetup', ['-f'])).exitCode === 0 ? false : 'no loop devices here')

const mountCapability = [{ mount: { fsType: 'ext4' }, accessMode: { mode: accessModes.singleNodeWriter } }]

async function aDriver(options: Partial<LocalDriverOptions> = {}) {
  const directory = await nodeFiles.temporaryDirectory('tn local ')
  const seams = { files: nodeFiles, mounts: nodeMounts, processes: nodeProcesses, clock: systemClock, host: thisHost }
  const caller = callerOf(localDriver({ nodeName: 'n1', directory, ...seams, isInUse: () => false, ...options }))
  const call = <Name extends CsiMethodName>(name: Name, request: CsiRequest<Name>) => caller.call(name, request, { timeoutMs: 60_000 })
  const create = (name: string, requiredBytes: number, more: Partial<CsiRequest<'createVolume'>> = {}) =>
    call('createVolume', { name, capacityRange: { requiredBytes }, volumeCapabilities: mountCapability, ...more })
  return { directory, call, create, [Symbol.asyncDispose]: () => nodeFiles.remove(directory) }
}

test('a volume is made once, whoever asks again, and not with another size', async () => {
  await using driver = await aDriver()
  const first = await driver.create('pvc-1', 5 << 20)
  assert.deepEqual(first.volume, {
    volumeId: 'n1/pvc-1',
    capacityBytes: 5 << 20,
    accessibleTopology: [{ segments: { 'kubernetes.io/hostname': 'n1' } }],
  })
  await fs.writeFile(join(driver.directory, 'volumes/pvc-1/data/file'), 'kept')
  assert.deepEqual(await driver.create('pvc-1', 5 << 20), first)
  assert.equal(await fs.readFile(join(driver.directory, 'volumes/pvc-1/data/file'), 'utf8'), 'kept')
  await assert.rejects(driver.create('pvc-1', 9 << 20), { code: grpcCodes.alreadyExists })
  await driver.call('deleteVolume', { volumeId: 'n1/pvc-1' })
  await driver.call('deleteVolume', { volumeId: 'n1/pvc-1' })
  assert.deepEqual(await fs.readdir(join(driver.directory, 'volumes')), [])
})

test('ids lead nowhere but to volumes of the node', async () => {
  await using driver = await aDriver()
  await fs.mkdir(join(driver.directory, 'volumes'))
  await fs.writeFile(join(driver.directory, 'precious'), '')
  for (const id of ['n1/../precious', 'n1/..', 'n1/', 'n1/.', '../precious', 'n2/pvc-1', '']) {
    await driver.call('deleteVolume', { volumeId: id })
    await assert.rejects(driver.call('controllerExpandVolume', { volumeId: id, capacityRange: { requiredBytes: 1 } }), {
      code: grpcCodes.notFound,
    })
  }
  assert.deepEqual((await fs.readdir(driver.directory)).sort(), ['precious', 'volumes'])
  await assert.rejects(driver.create('../escape', 1), /cannot be the name of a volume/)
})

test('what a pod still has is not deleted, and a kind that is not known is not made', async () => {
  await using driver = await aDriver({ isInUse: () => true })
  await driver.create('pvc-1', 1)
  await assert.rejects(driver.call('deleteVolume', { volumeId: 'n1/pvc-1' }), { code: grpcCodes.failedPrecondition })
  await assert.rejects(driver.create('pvc-2', 1, { parameters: { type: 'tape' } }), { code: grpcCodes.invalidArgument })
})

test('copies of volumes and snapshots have what was there then; those of another node are looked for elsewhere', async () => {
  await using driver = await aDriver()
  await driver.create('one', 2 << 20)
  const data = (name: string) => join(driver.directory, 'volumes', name, 'data', 'file')
  await fs.writeFile(data('one'), 'old', { mode: 0o640 })
  const { snapshot } = await driver.call('createSnapshot', { name: 'snap', sourceVolumeId: 'n1/one' })
  assert.equal(snapshot?.snapshotId, 'n1/snap')
  await fs.writeFile(data('one'), 'new')
  assert.deepEqual((await driver.call('createSnapshot', { name: 'snap', sourceVolumeId: 'n1/one' })).snapshot, snapshot)
  await driver.create('restored', 2 << 20, { volumeContentSource: { snapshot: { snapshotId: 'n1/snap' } } })
  await driver.create('clone', 2 << 20, { volumeContentSource: { volume: { volumeId: 'n1/one' } } })
  assert.deepEqual([await fs.readFile(data('restored'), 'utf8'), await fs.readFile(data('clone'), 'utf8')], ['old', 'new'])
  assert.equal((await fs.stat(data('restored'))).mode & 0o777, 0o640)
  const elsewhere = { volumeContentSource: { snapshot: { snapshotId: 'n2/snap' } } }
  await assert.rejects(driver.create('other', 2 << 20, elsewhere), { code: grpcCodes.resourceExhausted })
  const tooSmall = { volumeContentSource: { snapshot: { snapshotId: 'n1/snap' } } }
  await assert.rejects(driver.create('small', 1 << 20, tooSmall), { code: grpcCodes.outOfRange })
})

test('a disk that is full, or read-only, leaves no half of a volume, and says so', async () => {
  for (const [text, code] of [
    ['cp: error writing: No space left on device', grpcCodes.resourceExhausted],
    ['cp: cannot create directory: Read-only file system', grpcCodes.internal],
  ] as const) {
    const processes = {
      ...nodeProcesses,
      run: async (program: string) => ({ exitCode: program === 'cp' ? 1 : 0, signal: null, stdout: '', stderr: text }),
    }
    await using driver = await aDriver({ processes })
    await driver.create('one', 1)
    await assert.rejects(driver.create('clone', 2 << 20, { volumeContentSource: { volume: { volumeId: 'n1/one' } } }), { code })
    assert.deepEqual(await fs.readdir(join(driver.directory, 'volumes')), ['one'])
  }
})

test('a copy that is larger than its source has a file system of its own size', { skip: cannotLoop }, async () => {
  await using driver = await aDriver()
  const parameters = { type: 'loop' }
  const [volumeCapability = assert.fail()] = mountCapability
  const staged = async (name: string): Promise<number> => {
    const stagingTargetPath = join(driver.directory, `staged ${name}`)
    await fs.mkdir(stagingTargetPath)
    await driver.call('nodeStageVolume', { volumeId: `n1/${name}`, stagingTargetPath, volumeCapability })
    const { blocks, bsize } = await fs.statfs(stagingTargetPath)
    await driver.call('nodeUnstageVolume', { volumeId: `n1/${name}`, stagingTargetPath })
    return blocks * bsize
  }
  await driver.create('one', 16 << 20, { parameters })
  const sizeBytes = await staged('one')
  await driver.create('two', 48 << 20, { parameters, volumeContentSource: { volume: { volumeId: 'n1/one' } } })
  assert.ok((await staged('two')) > 2 * sizeBytes)
})
