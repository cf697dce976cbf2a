import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeFiles } from '#base/files.ts'
import { ContainerLogLinks } from '#kubelet/logs/container-log-links.ts'

test('each container has a link to its log, of which nothing is left but its own goes', async () => {
  const root = await nodeFiles.temporaryDirectory('tn-links-')
  try {
    const links = new ContainerLogLinks(nodeFiles, join(root, 'pods'))
    const pod = { metadata: { name: 'web', namespace: 'shop' }, spec: { containers: [] } }
    const logPath = join(root, 'pods/shop_web_1/app/0.log')
    await links.add({ pod, container: 'app', containerId: 'abc', logPath })
    await links.add({ pod, container: 'x'.repeat(300), containerId: 'def', logPath })
    assert.equal(await nodeFiles.readLink(join(root, 'containers/web_shop_app-abc.log')), logPath)
    assert.ok((await nodeFiles.list(join(root, 'containers'))).every((name) => name.length <= 255))
    // The next agent knows its containers by id alone.
    await new ContainerLogLinks(nodeFiles, join(root, 'pods')).remove('abc')
    await links.remove('never-made')
    assert.equal((await nodeFiles.list(join(root, 'containers'))).length, 1)
    await links.remove('def')
    assert.deepEqual(await nodeFiles.list(join(root, 'containers')), [])
  } finally {
    await nodeFiles.remove(root)
  }
})
