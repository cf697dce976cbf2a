import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeFiles } from '#base/files.ts'
import { withCdiDevices } from '#runtime/containers/cdi-devices.ts'
import type { ContainerConfig } from '#wire/cri/cri-types.ts'

const spec = `
cdiVersion: 0.6.0
kind: example.com/gpu
containerEdits: {env: [DRIVER=on]}
devices:
- name: "0"
  containerEdits:
    env: [GPU=0]
    deviceNodes: [{path: /dev/gpu0, hostPath: /dev/null}]
    mounts: [{hostPath: /opt/gpu, containerPath: /usr/lib/gpu, options: [ro, rbind]}]
- name: "1"
  containerEdits: {env: [SECOND=1]}
- name: hooked
  containerEdits: {hooks: [{hookName: createContainer, path: /bin/true}]}
`

const asking = (...names: string[]): ContainerConfig => ({
  ...{ metadata: { name: 'c', attempt: 0 }, image: { image: 'i' }, envs: [{ key: 'A', value: Buffer.from('b') }] },
  cdiDevices: names.map((name) => ({ name })),
})

test('a container gets what files of CDI say of its devices', async () => {
  const directory = await nodeFiles.temporaryDirectory('tn-cdi-')
  try {
    await nodeFiles.write(join(directory, 'gpu.yaml'), spec)
    await nodeFiles.write(join(directory, 'broken.json'), '{')
    const { envs, devices, mounts } = await withCdiDevices(asking('example.com/gpu=0', 'example.com/gpu=1'), nodeFiles, [directory])
    assert.deepEqual(
      envs?.map(({ key, value }) => `${key}=${Buffer.from(value)}`),
      ['A=b', 'DRIVER=on', 'GPU=0', 'SECOND=1'],
    )
    assert.deepEqual(devices, [{ containerPath: '/dev/gpu0', hostPath: '/dev/null', permissions: 'rwm' }])
    assert.deepEqual(
      mounts?.map(({ hostPath, containerPath, readonly }) => [hostPath, containerPath, readonly]),
      [['/opt/gpu', '/usr/lib/gpu', true]],
    )
    await assert.rejects(withCdiDevices(asking('example.com/gpu=7'), nodeFiles, [directory]), {
      message: 'CDI device injection failed: unresolvable CDI devices example.com/gpu=7',
    })
    await assert.rejects(withCdiDevices(asking('example.com/gpu=hooked'), nodeFiles, [directory]), /hooks are not run/)
  } finally {
    await nodeFiles.remove(directory)
  }
})
