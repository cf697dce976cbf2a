import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { nodeFiles } from '#base/files.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { ChangingPods } from '#kubelet/sources/changing-pods.ts'
import { CheckpointedPods } from '#kubelet/sources/checkpointed-pods.ts'
import type { PodSource } from '#kubelet/sources/pod-source.ts'

const podOf = (name: string, isKept = true): V1Pod => ({
  metadata: { name, namespace: 'default', uid: name, annotations: isKept ? { 'node.kubernetes.io/bootstrap-checkpoint': 'true' } : {} },
  spec: { containers: [{ name: 'main' }] },
})

test('pods that ask for it are there before the API answers, until it says that they are gone', async () => {
  const directory = await nodeFiles.temporaryDirectory('tn checkpoints ')
  try {
    const log: LogRecord[] = []
    const seams = { files: nodeFiles, logger: recordingLogger(log) }
    const api = new ChangingPods()
    const source: PodSource = { follow: (_, listener) => api.follow(listener), get: () => undefined }
    const ignored = { onPod: () => {}, onPodGone: () => {} }
    api.replace([podOf('stays'), podOf('goes'), podOf('leaves-later'), podOf('other', false)])
    const first = new CheckpointedPods(directory, seams)
    const following = first.keeping(source).follow('n1', ignored)
    api.replace([podOf('stays'), podOf('leaves-later'), podOf('other', false)])
    await first.settled()
    following[Symbol.dispose]()
    assert.deepEqual(await nodeFiles.list(directory), ['Pod_leaves-later.yaml', 'Pod_stays.yaml'])

    await nodeFiles.write(join(directory, 'Pod_torn.yaml'), '{"kind":"Po')
    api.replace([podOf('stays')])
    const second = new CheckpointedPods(directory, seams)
    assert.deepEqual((await second.read()).map(({ metadata }) => metadata.name).sort(), ['leaves-later', 'stays'])
    assert.match(JSON.stringify(log), /failed to load pod checkpoint/)
    const gone: string[] = []
    second.keeping(source).follow('n1', { onPod: () => {}, onPodGone: ({ metadata }) => gone.push(metadata.name ?? '') })
    await second.settled()
    assert.deepEqual(gone, ['leaves-later'])
    assert.deepEqual(await nodeFiles.list(directory), ['Pod_stays.yaml', 'Pod_torn.yaml'])
  } finally {
    await nodeFiles.remove(directory)
  }
})
