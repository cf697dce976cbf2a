import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { PodDirectories } from '#kubelet/runtime-helper/pod-directories.ts'
import { EmptyDirLimits } from '#kubelet/volumes/empty-dir-limits.ts'

test('a pod that has put more into a volume than it may is found', async (t) => {
  const root = await fs.mkdtemp(join(tmpdir(), 'tn limits '))
  t.after(() => fs.rm(root, { recursive: true, force: true }))
  const directories = new PodDirectories({ root, logRoot: join(root, 'logs') })
  const aPod = (uid: string, sizeLimit: string): V1Pod =>
    ({
      metadata: { uid },
      spec: {
        containers: [],
        volumes: [
          { name: 'v', emptyDir: { sizeLimit } },
          { name: 'w', emptyDir: {} },
        ],
      },
    }) as never
  const pods = [aPod('small', '100Ki'), aPod('large', '1Mi'), aPod('not-there', '1Ki'), aPod('any', '0')]
  for (const uid of ['small', 'large', 'any']) {
    for (const volume of ['v', 'w']) {
      const directory = directories.volume(uid, 'kubernetes.io/empty-dir', volume)
      await fs.mkdir(directory, { recursive: true })
      await fs.writeFile(join(directory, 'data'), Buffer.alloc(200 * 1024, 1))
    }
  }
  const evicted: string[] = []
  const clock = new VirtualClock()
  using limits = new EmptyDirLimits({
    ...{ clock, logger: silentLogger, files: nodeFiles, directories, pods: () => pods },
    evict: ({ metadata }, message) => void evicted.push(`${metadata.uid}: ${message}`),
  })
  await limits.look()
  assert.deepEqual(evicted, ['small: Usage of EmptyDir volume "v" exceeds the limit "100Ki". '])
})
