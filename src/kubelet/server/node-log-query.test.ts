import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeFiles } from '#base/files.ts'
import type { Processes } from '#base/processes.ts'
import { nodeLogQuery } from '#kubelet/server/node-log-query.ts'

const commands: string[] = []
const processes = {
  run: async (command: string, args: readonly string[]) => {
    commands.push([command, ...args].join(' '))
    const stdout = args[0] === '--field' ? 'kubelet.service\ncron.service\n' : 'a line of the journal\n'
    return { exitCode: 0, signal: null, stdout, stderr: '' }
  },
} as unknown as Processes

async function ask(query: string): Promise<string> {
  const directory = await nodeFiles.temporaryDirectory('tn logs ')
  try {
    await nodeFiles.makeDirectory(join(directory, 'web'))
    await nodeFiles.write(join(directory, 'web', 'web.log'), 'of a file\n')
    await nodeFiles.write(join(directory, 'plain.log'), 'plain\n')
    await nodeFiles.symlink('/etc/passwd', join(directory, 'secret.log'))
    return await nodeLogQuery(new URLSearchParams(query), { files: nodeFiles, processes, directory })
  } finally {
    await nodeFiles.remove(directory)
  }
}

test('services that the journal knows are asked of it, others are looked for among the files', async () => {
  commands.length = 0
  assert.equal(
    await ask('query=kubelet&query=web&query=none&tailLines=5&boot=0&pattern=x'),
    'a line of the journal\nof a file\n\nlog not found for none\n',
  )
  assert.equal(commands[1], 'journalctl --utc --no-pager --output=short-precise --pager-end --lines=5 --boot 0 --grep=x --unit=kubelet')
  await ask('query=cron&sinceTime=2030-01-01T01:00:00%2B01:00')
  assert.match(commands.at(-1) ?? '', /--since=2030-01-01 00:00:00 --unit=cron$/)
})

test('a file is read by its path below the log directory, and no link is followed', async () => {
  assert.equal(await ask('query=/plain.log'), 'plain\n')
  assert.equal(await ask('query=plain'), 'plain\n')
  assert.equal(await ask('query=secret'), '\nlog not found for secret\n')
  await assert.rejects(ask('query=/secret.log'), { code: 400 })
  await assert.rejects(ask('query=/../etc/passwd'), { code: 400 })
})

for (const [query, expected] of [
  ['query=%20', 'query: Invalid value: " ": may not be empty\n'],
  ['query=a;b', 'query: Invalid value: "a;b": input contains unsupported characters\n'],
  ['query=/plain.log&query=kubelet', 'query: Invalid value: "/plain.log, kubelet": cannot specify a file and service\n'],
  ['query=/plain.log&boot=0', 'query: Invalid value: "/plain.log": cannot specify file with options\n'],
  ['query=kubelet&boot=1', 'boot: Invalid value: 1: must be less than 1\n'],
  ['query=kubelet&tailLines=x', 'tailLines: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax\n'],
  ['query=kubelet&sinceTime=today', 'sinceTime: Invalid value: "today": invalid time format\n'],
  ['query=a&query=b&query=c&query=d&query=e', 'query: Too many: 5: must have at most 4 items\n'],
] as const) {
  test(`refused: ${query}`, async () => {
    await assert.rejects(ask(query), { code: 400, message: expected })
  })
}
