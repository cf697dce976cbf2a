import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeFiles as files } from '#base/files.ts'
import { nodeSockets as sockets } from '#base/sockets.ts'
import { chooseApiPort } from '#cmd/up/choose-api-port.ts'

test('a cluster comes back at the port it had, unless it listens elsewhere now', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'last port '))
  const chosen = (listen: string) => chooseApiPort({ dataDir, listen, apiPort: 6443, isNamed: false }, { files, sockets })
  try {
    assert.equal(await chosen('127.0.0.1'), 6443)
    writeFileSync(join(dataDir, 'admin.kubeconfig'), 'clusters:\n- name: "a"\n  cluster:\n    server: "https://127.0.0.1:16443"\n')
    assert.equal(await chosen('127.0.0.1'), 16443)
    assert.equal(await chosen('10.0.0.1'), 6443)
  } finally {
    rmSync(dataDir, { recursive: true })
  }
})

test('a cluster with a name takes another port where the usual one is in use', async () => {
  const usual = await sockets.listenTcp({ host: '127.0.0.1', port: 0 }, ({ destroy }) => destroy())
  const asked = { dataDir: join(tmpdir(), 'no such cluster'), listen: '127.0.0.1', apiPort: usual.port }
  const other = await chooseApiPort({ ...asked, isNamed: true }, { files, sockets })
  assert.ok(other > 0 && other !== usual.port, String(other))
  assert.equal(await chooseApiPort({ ...asked, isNamed: false }, { files, sockets }), usual.port)
  await usual.close()
  assert.equal(await chooseApiPort({ ...asked, isNamed: true }, { files, sockets }), usual.port)
})
