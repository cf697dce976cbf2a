import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { V1GitRepoVolumeSource, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { nodeProcesses, type Processes } from '#base/processes.ts'
import { cannotMount, TestNode } from '#testing/test-node.ts'

const skip = cannotMount
const withRepository = (gitRepo: V1GitRepoVolumeSource): Partial<V1PodSpec> => ({
  volumes: [{ name: 'v', gitRepo }],
  containers: [{ name: 'app', image: 'app:1', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
})

/** Writes down what git is asked for; a clone makes the directory it would. */
function recordingGit() {
  const done: string[] = []
  const processes: Processes = {
    ...nodeProcesses,
    async run(program, args, options = {}) {
      const plain = args.filter((arg, index) => arg !== '-c' && args[index - 1] !== '-c')
      done.push([program, ...plain].join(' '))
      if (plain[0] === 'clone') await fs.mkdir(join(options.directory ?? '', plain[3] ?? 'code'), { recursive: true })
      return { exitCode: 0, signal: null, stdout: '', stderr: '' }
    },
  }
  return { done, processes }
}

test('a repository is cloned once, at the revision, into the directory', { skip }, async () => {
  const { done, processes } = recordingGit()
  await using node = await TestNode.start({ processes })
  const repository = 'https://git.example/code.git'
  const pod = await node.create(withRepository({ repository, revision: 'v1', directory: 'here' }))
  await node.sandbox(pod)
  await node.container(pod)
  assert.deepEqual(done, [`git clone -- ${repository} here`, 'git checkout v1', 'git reset --hard'])
  const later = await node.restarted()
  await node.now(later.prepareSandbox(pod, new AbortController().signal))
  assert.equal(done.length, 3)
})

for (const [what, source] of Object.entries({
  directory: { repository: 'https://git.example/code.git', directory: '../up' },
  repository: { repository: '--upload-pack=sh' },
  revision: { repository: 'https://git.example/code.git', revision: '--orphan' },
})) {
  test(`a ${what} that would lead git astray is refused`, { skip }, async () => {
    const { done, processes } = recordingGit()
    await using node = await TestNode.start({ processes })
    // The API refuses some of these itself: nodes may have pods of other sources.
    const pod = { ...(await node.create({})), spec: { nodeName: 'n1', ...withRepository(source) } as V1PodSpec }
    const abort = new AbortController()
    const waiting = node.runtimeHelper.prepareSandbox(pod, abort.signal)
    waiting.catch(() => undefined)
    while (node.events.length === 0) await node.cluster.clock.settle()
    abort.abort(new Error('given up'))
    await assert.rejects(node.now(waiting), /given up/)
    assert.match(node.events[0] ?? '', new RegExp(`is an invalid ${what} of a git repository`))
    assert.deepEqual(done, [])
  })
}
