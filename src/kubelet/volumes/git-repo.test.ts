import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { V1GitRepoVolumeSource, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { nodeProcesses, type Processes } from '#base/processes.ts'
import { cannotMount, TestNode } from '#testing/test-node.ts'

const skip = cannotMount
const repository = 'https://git.example/code.git'
const withRepository = (gitRepo: V1GitRepoVolumeSource): Partial<V1PodSpec> => ({
  volumes: [{ name: 'v', gitRepo }],
  containers: [{ name: 'app', image: 'app:1', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
})

/** Writes down what git is asked for; a clone makes the directory it would. */
function recordingGit() {
  const done: string[] = []
  const asked: string[] = []
  const processes: Processes = {
    ...nodeProcesses,
    async run(program, args, options = {}) {
      asked.push(args.join(' '))
      const plain = args.filter((arg, index) => arg !== '-c' && args[index - 1] !== '-c' && !/^--(git-dir|work-tree)=/.test(arg))
      done.push([program, ...plain].join(' '))
      if (plain[0] === 'clone') await fs.mkdir(join(options.directory ?? '', plain[3] ?? 'code'), { recursive: true })
      return { exitCode: 0, signal: null, stdout: '', stderr: '' }
    },
  }
  return { done, asked, processes }
}

test('a repository is cloned once, at the revision, into the directory', { skip }, async () => {
  const { done, asked, processes } = recordingGit()
  await using node = await TestNode.start({ processes, clonesRepositories: true })
  const pod = await node.create(withRepository({ repository, revision: 'v1', directory: 'here' }))
  await node.sandbox(pod)
  await node.container(pod)
  assert.deepEqual(done, [`git clone -- ${repository} here`, 'git checkout v1', 'git reset --hard'])
  // What the repository has in it is never taken for one.
  for (const call of asked) assert.match(call, / clone | --git-dir=\S.*\/here\/.git --work-tree=\S.*\/here /)
  for (const call of asked) assert.match(call, /-c core.fsmonitor=false /)
  const later = await node.restarted()
  await node.now(later.prepareSandbox(pod, new AbortController().signal))
  assert.equal(done.length, 3)
})

for (const [what, source, message] of [
  ['directory', { repository, directory: '../up' }, /is an invalid directory of a git repository/],
  ['repository', { repository: '--upload-pack=sh' }, /is an invalid repository of a git repository/],
  ['revision', { repository, revision: '--orphan' }, /is an invalid revision of a git repository/],
  ['directory in a repository', { repository, revision: 'HEAD', directory: 'g/.git' }, /"g\/.git" is not a valid directory, it must not/],
  ['directory with the other separator', { repository, revision: 'HEAD', directory: 'g\\h' }, /must not contain a directory separator/],
  ['directory of git itself', { repository, revision: 'HEAD', directory: '.git' }, /is an invalid directory of a git repository/],
] as const) {
  test(`a ${what} that would lead git astray is refused`, { skip }, async () => {
    const { done, processes } = recordingGit()
    await using node = await TestNode.start({ processes, clonesRepositories: true })
    // The API refuses some of these itself: nodes may have pods of other sources.
    const pod = { ...(await node.create({})), spec: { nodeName: 'n1', ...withRepository(source) } as V1PodSpec }
    assert.match(await node.eventOf(pod), message)
    assert.deepEqual(done, [])
  })
}

test('without its gate nothing is cloned', { skip }, async () => {
  const { done, processes } = recordingGit()
  await using node = await TestNode.start({ processes })
  const pod = await node.create(withRepository({ repository }))
  assert.match(await node.eventOf(pod), /git-repo volume plugin has been disabled/)
  assert.deepEqual(done, [])
})
