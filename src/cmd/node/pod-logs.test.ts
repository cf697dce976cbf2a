import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeFiles } from '#base/files.ts'
import { podLogsDirectory, removePodLogs } from '#cmd/node/pod-logs.ts'

test('logs may lie where collectors look for them, and go with their node while those of others stay', async () => {
  const root = await nodeFiles.temporaryDirectory('tn logs ')
  try {
    const [node, shared] = [join(root, 'node'), join(root, 'var', 'log', 'pods')]
    assert.equal(await podLogsDirectory(node, '', nodeFiles), join(node, 'logs', 'pods'))
    // Nothing is elsewhere: what is in the node's own directory goes with that.
    await nodeFiles.makeDirectory(join(node, 'logs', 'pods', 'default_old_gone'))
    await removePodLogs(node, nodeFiles)
    assert.deepEqual(await nodeFiles.list(join(node, 'logs', 'pods')), ['default_old_gone'])
    assert.equal(await podLogsDirectory(node, shared, nodeFiles), shared)
    // Started again.
    assert.equal(await podLogsDirectory(node, shared, nodeFiles), shared)
    assert.equal(await nodeFiles.readLink(join(node, 'logs', 'pods')), shared)
    const links = join(root, 'var', 'log', 'containers')
    await nodeFiles.makeDirectory(links)
    await nodeFiles.write(join(links, 'no-link'), '')
    for (const uid of ['ours', 'theirs']) {
      const log = join(shared, `default_web_${uid}`, 'main', '0.log')
      await nodeFiles.makeDirectory(join(log, '..'))
      await nodeFiles.write(log, 'a line\n')
      await nodeFiles.symlink(log, join(links, `web_default_main-${uid}.log`))
    }
    await nodeFiles.makeDirectory(join(node, 'kubelet', 'pods', 'ours'))
    await removePodLogs(node, nodeFiles)
    assert.deepEqual(await nodeFiles.list(shared), ['default_web_theirs'])
    assert.deepEqual(await nodeFiles.list(links), ['no-link', 'web_default_main-theirs.log'])
    assert.equal(await podLogsDirectory(node, '', nodeFiles), join(node, 'logs', 'pods'))
    assert.equal(await nodeFiles.readLink(join(node, 'logs', 'pods')), undefined)
  } finally {
    await nodeFiles.remove(root)
  }
})
